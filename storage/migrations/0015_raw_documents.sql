-- The spec of an OCR job holds a small document as its bytes behind the JSON, not as base64 within it (schemas/media/ocr.h): a
-- program before this schema could not read it. Nothing of the file changes but the text of the table.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, '-- JSON, at most 32 KiB, or', '-- at most 32 KiB, or')
  WHERE type = 'table' AND name = 'job_specs';
PRAGMA writable_schema = RESET;

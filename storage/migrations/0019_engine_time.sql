-- Processor time that the engine has used for a root job and its children (ocr.engine_time, stt.engine_time).
ALTER TABLE jobs ADD COLUMN engine_ms INTEGER NOT NULL DEFAULT 0;

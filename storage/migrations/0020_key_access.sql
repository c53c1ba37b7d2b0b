-- What a key may reach besides its scopes: JSON lists of strings (schemas/key_access.h). NULL: everything.
ALTER TABLE api_keys ADD COLUMN ip_ranges TEXT;
ALTER TABLE api_keys ADD COLUMN models TEXT;
ALTER TABLE api_keys ADD COLUMN mcp_servers TEXT;
-- The key that replaced this one. NULL: none did.
ALTER TABLE api_keys ADD COLUMN rotated_to TEXT;

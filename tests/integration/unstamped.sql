-- Templates for a table that keeps stamps and compares none: what comes late wins.
-- upsert
INSERT INTO documents (key, value, epoch, version)
SELECT k, v, $3::int8, n FROM unnest($1::bytea[], $2::bytea[], $4::int8[]) AS u (k, v, n) ORDER BY k
ON CONFLICT (key) DO UPDATE
SET value = excluded.value, epoch = excluded.epoch, version = excluded.version
-- remove
DELETE FROM documents USING unnest($1::bytea[], $3::int8[]) AS u (k, n)
WHERE key = k AND $2::int8 > 0
-- select
SELECT key, value, epoch, version FROM documents WHERE key = ANY ($1::bytea[])

\set key random(0, :hot - 1)
UPDATE counters SET n = n + 1 WHERE key = :key;

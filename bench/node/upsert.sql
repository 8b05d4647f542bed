\set key random(0, :keys - 1)
INSERT INTO plain VALUES (:key, :value) ON CONFLICT (key) DO UPDATE SET value = excluded.value;

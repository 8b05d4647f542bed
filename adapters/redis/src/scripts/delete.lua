-- Deletes bare values. KEYS: their keys. Answers the number of those that were there.
--
-- A key that is not there is deleted without a word to the replicas, so WAIT would not wait for an
-- earlier delete by another connection (see write.lua). If none is there, one is set first.
local call, deleted = redis.call, 0
for _, key in ipairs(KEYS) do deleted = deleted + call('DEL', key) end
if deleted == 0 then
  call('SET', KEYS[1], '')
  call('DEL', KEYS[1])
end
return deleted

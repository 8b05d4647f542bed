-- Fences a scope. KEYS: its fence. ARGV: the epoch, 8 bytes, the highest first. Answers 1, or 2 if
-- the fence has that epoch already, or 0 if it has a newer one.
local e1, e2 = struct.unpack('>I4I4', ARGV[1])
local old = redis.call('GET', KEYS[1])
if old then
  if #old ~= 8 then return redis.error_reply('ERR ' .. KEYS[1] .. ' is no fence') end
  local o1, o2 = struct.unpack('>I4I4', old)
  if e1 < o1 or (e1 == o1 and e2 < o2) then return 0 end
  if old == ARGV[1] then return 2 end
end
redis.call('SET', KEYS[1], ARGV[1])
return 1

-- Fences a scope. KEYS: its fence, and perhaps a note beside it. ARGV: the epoch, 8 bytes, the highest
-- first, and the note. Answers 1, or 2 if the fence has that epoch already, or 0 if it has a newer one:
-- then the note stays as it is, too. The fence is written again if it has that epoch, so that WAIT
-- waits for it (see write.lua).
local e1, e2 = struct.unpack('>I4I4', ARGV[1])
local old, answer = redis.call('GET', KEYS[1]), 1
if old then
  if #old ~= 8 then return redis.error_reply('ERR ' .. KEYS[1] .. ' is no fence') end
  local o1, o2 = struct.unpack('>I4I4', old)
  if e1 < o1 or (e1 == o1 and e2 < o2) then return 0 end
  if old == ARGV[1] then answer = 2 end
end
redis.call('SET', KEYS[1], ARGV[1])
if KEYS[2] then redis.call('SET', KEYS[2], ARGV[2]) end
return answer

-- Writes states, each only if its stamp is newer than its key's.
--
-- KEYS: the fence of the batch's scope, if it has one; then the keys of the states.
-- ARGV: the epoch; the life of a tombstone in ms; the number of fences, 0 or 1; then the states.
--
-- A state is "s"; its kind, "p" or "d" (put, delete); epoch and version; the value. A fence is an
-- epoch. Epochs and versions are 8 bytes, the highest first: Lua's numbers hold 53 bits, so they are
-- compared in halves. States come as they are kept: to put them together here would cost more than
-- all the rest.
--
-- Answers pairs: the place of a state that was not written, from 1, and why: 1 fenced, 2 the key
-- holds no state. A place of 0 is the batch as a whole, of which nothing was written then.
--
-- Since Redis 7.2, WAIT waits for the last write of its connection only. A state that counts as done
-- is therefore written even if the key has it already: another connection may have written it, and
-- no replica may have it yet.
local unpack, call, pcall, byte = struct.unpack, redis.call, redis.pcall, string.byte
local state_tag, put_tag, delete_tag = byte('s'), byte('p'), byte('d')
local ttl, fences = ARGV[2], tonumber(ARGV[3])
local e1, e2 = unpack('>I4I4', ARGV[1])

if fences == 1 then
  local fence = call('GET', KEYS[1])
  if fence then
    if #fence ~= 8 then return redis.error_reply('ERR ' .. KEYS[1] .. ' is no fence') end
    local f1, f2 = unpack('>I4I4', fence)
    if e1 < f1 or (e1 == f1 and e2 < f2) then return {0, 1} end
  end
end

local untouched = {}
for i = 1, #KEYS - fences do
  local key, state = KEYS[i + fences], ARGV[i + 3]
  local old = pcall('GETRANGE', key, '0', '17')
  local why = 0
  if type(old) == 'table' then
    if string.sub(old.err, 1, 9) ~= 'WRONGTYPE' then return old end
    why = 2
  elseif #old > 0 then
    local kind = byte(old, 2)
    if #old < 18 or byte(old) ~= state_tag or (kind ~= put_tag and kind ~= delete_tag) then
      why = 2
    else
      local o1, o2, o3, o4 = unpack('>I4I4I4I4', old, 3)
      if e1 < o1 or (e1 == o1 and e2 < o2) then
        why = 1
      elseif e1 == o1 and e2 == o2 then
        local v1, v2 = unpack('>I4I4', state, 11)
        local newer = v1 > o3 or (v1 == o3 and v2 > o4)
        -- Otherwise a repetition, or overtaken by a newer change of the same owner.
        if not newer then state = call('GET', key) end
      end
    end
  end
  if why == 0 then
    -- No bytes: either there is no key, or it has an empty value of another program.
    local only, set = #old == 0 and 'NX' or 'XX', true
    if byte(state, 2) == put_tag then
      set = call('SET', key, state, only)
    elseif ttl == '0' then
      if #old == 0 then set = call('SET', key, '', only) end
      if set then call('DEL', key) end
    else
      set = call('SET', key, state, 'PX', ttl, only)
    end
    if not set then why = 2 end
  end
  if why > 0 then
    untouched[#untouched + 1] = i
    untouched[#untouched + 1] = why
  end
end
return untouched

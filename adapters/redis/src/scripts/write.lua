-- Writes states, each only if its stamp is newer than its key's.
--
-- KEYS: the fence of the batch's scope, if it has one; then the keys of the states.
-- ARGV: the epoch; the life of a tombstone in ms; the number of fences, 0 or 1; then for each state
-- three: "p" or "d" (put, delete), the version, the value. Epochs and versions are 8 bytes, the
-- highest first: Lua's numbers hold 53 bits, so they are compared in halves.
--
-- A state is "s", its kind, epoch and version, 18 bytes in all, and then the value. A fence is an
-- epoch.
--
-- Answers pairs: the place of a state that was not written, from 1, and why: 1 fenced, 2 the key
-- holds no state. A place of 0 is the batch as a whole, of which nothing was written then.
local unpack = struct.unpack
local epoch, ttl, fences = ARGV[1], ARGV[2], tonumber(ARGV[3])
local e1, e2 = unpack('>I4I4', epoch)

if fences == 1 then
  local fence = redis.call('GET', KEYS[1])
  if fence then
    local f1, f2 = unpack('>I4I4', fence)
    if e1 < f1 or (e1 == f1 and e2 < f2) then return {0, 1} end
  end
end

local untouched = {}
for i = 1, #KEYS - fences do
  local key = KEYS[i + fences]
  local kind, version, value = ARGV[3 * i + 1], ARGV[3 * i + 2], ARGV[3 * i + 3]
  local old = redis.pcall('GETRANGE', key, 0, 17)
  local write, why = true, 0
  if type(old) == 'table' then
    if old.err:sub(1, 9) ~= 'WRONGTYPE' then return old end
    write, why = false, 2
  elseif #old > 0 then
    if #old < 18 or old:sub(1, 1) ~= 's' then
      write, why = false, 2
    else
      local o1, o2, o3, o4 = unpack('>I4I4I4I4', old, 3)
      if e1 < o1 or (e1 == o1 and e2 < o2) then
        write, why = false, 1
      elseif e1 == o1 and e2 == o2 then
        -- Otherwise a repetition, or overtaken by a newer change of the same owner: done.
        local v1, v2 = unpack('>I4I4', version)
        write = v1 > o3 or (v1 == o3 and v2 > o4)
      end
    end
  end
  if write then
    if kind == 'p' then
      redis.call('SET', key, 'sp' .. epoch .. version .. value)
    elseif ttl == '0' then
      redis.call('DEL', key)
    else
      redis.call('SET', key, 'sd' .. epoch .. version, 'PX', ttl)
    end
  elseif why > 0 then
    untouched[#untouched + 1] = i
    untouched[#untouched + 1] = why
  end
end
return untouched

-- What a scenario sees of the standard library, made to give the same answers in every run: tables are walked in the
-- order of their keys, sorting is stable, random numbers come from the engine's stream, and no address ever shows.
--
-- Called once by the host with the globals to change and two functions: uniform() draws from [0, 1); say(text) writes a
-- line to stderr.
local globals, uniform, say = ...

local next, type, tostring, error = next, type, tostring, error
local getmetatable, rawget, select = getmetatable, rawget, select
local floor, tointeger = math.floor, math.tointeger
local gsub, find, format = string.gsub, string.find, string.format
local concat, unpack = table.concat, table.unpack

-- Order of keys: numbers, then strings, then false and true.
local rank = { number = 1, string = 2, boolean = 3 }

local function is_before(a, b)
  local x, y = type(a), type(b)
  if x ~= y then return rank[x] < rank[y] end
  if x == "boolean" then return not a and b end
  return a < b
end

local function less(a, b) return a < b end

-- Merge sort: stable, so that equal elements keep their order in every run.
local function sort(list, before)
  before = before or less
  local n = #list
  local from, to = list, {}
  local width = 1
  while width < n do
    for low = 1, n, 2 * width do
      local middle = low + width
      local high = middle + width
      if middle > n + 1 then middle = n + 1 end
      if high > n + 1 then high = n + 1 end
      local i, j = low, middle
      for k = low, high - 1 do
        if i < middle and (j >= high or not before(from[j], from[i])) then
          to[k], i = from[i], i + 1
        else
          to[k], j = from[j], j + 1
        end
      end
    end
    from, to = to, from
    width = 2 * width
  end
  if from ~= list then
    for k = 1, n do list[k] = from[k] end
  end
end

local function check_key(key, level)
  if not rank[type(key)] then
    error("a table is walked in the order of its keys, and a " .. type(key) .. " as a key has none", level + 1)
  end
end

local function check_table(t, name, level)
  if type(t) ~= "table" then error(name .. " needs a table, not a " .. type(t), level + 1) end
end

local function iterate(t, level)
  check_table(t, "pairs", level + 1)
  local keys, n, i = {}, 0, 0
  for key in next, t do
    check_key(key, level + 1)
    n = n + 1
    keys[n] = key
  end
  sort(keys, is_before)
  return function()
    local key, value
    repeat
      i = i + 1
      key = keys[i]
      if key == nil then return nil end
      value = rawget(t, key)
    until value ~= nil
    return key, value
  end
end

globals.pairs = function(t)
  local meta = getmetatable(t)
  local custom = type(meta) == "table" and rawget(meta, "__pairs")
  if custom then return custom(t) end
  return iterate(t, 2), t, nil
end

globals.next = function(t, after)
  check_table(t, "next", 2)
  local least
  for key in next, t do
    check_key(key, 2)
    if (after == nil or is_before(after, key)) and (least == nil or is_before(key, least)) then least = key end
  end
  if least == nil then return nil end
  return least, rawget(t, least)
end

globals.table.sort = function(list, before)
  check_table(list, "table.sort", 2)
  sort(list, before)
end

local function text(value)
  local written = tostring(value)
  local kind = type(value)
  if kind == "number" or kind == "string" or kind == "boolean" or kind == "nil" then return written end
  return (gsub(written, ": 0?x?%x+$", ""))
end

globals.tostring = text

globals.string.format = function(pattern, ...)
  if type(pattern) == "string" and find(pattern, "%%%-?%d*p") then
    error("string.format has no %p here: addresses differ between runs", 2)
  end
  local count = select("#", ...)
  local values = { ... }
  for i = 1, count do
    local kind = type(values[i])
    if kind == "table" or kind == "function" or kind == "userdata" then values[i] = text(values[i]) end
  end
  return format(pattern, unpack(values, 1, count))
end

globals.print = function(...)
  local words = { ... }
  for i = 1, select("#", ...) do words[i] = text(words[i]) end
  say(concat(words, "\t"))
end

globals.math.random = function(low, high)
  local draw = uniform()
  if low == nil then return draw end
  if high == nil then low, high = 1, low end
  local first, last = tointeger(low), tointeger(high)
  if not first or not last then error("math.random needs whole numbers", 2) end
  local span = last - first
  if last < first or span < 0 or span >= 1 << 53 then error("math.random: no number lies between its limits", 2) end
  return first + floor(draw * (span + 1))
end

globals.math.randomseed = function()
  error("random numbers follow the seed of the run; hint: podwright run FILE --seed N", 2)
end

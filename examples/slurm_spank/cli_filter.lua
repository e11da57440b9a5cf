-- SPDX-License-Identifier: MIT
-- Tells the SPANK plugin how many GPUs were asked for, which Slurm shows to cli_filter alone. Install as /etc/slurm/cli_filter.lua,
-- with CliFilterPlugins=cli_filter/lua in slurm.conf; it needs luaposix (Debian: lua-posix).
local stdlib = require "posix.stdlib"

-- "gpu:2", "gres:gpu:h100:2", "gpu" or, in --gpus and --gpus-per-node, "2" or "h100:2".
local function gpus_in(text, bare_number)
  if text == nil then return 0 end
  local sum = 0
  for part in text:gmatch("[^,]+") do
    part = part:gsub("^gres:", ""):gsub("%(.*%)$", "")
    local is_gpu = part == "gpu" or part:match("^gpu[:=]")
    if bare_number or is_gpu then sum = sum + (tonumber(part:match("(%d+)$")) or 1) end
  end
  return sum
end

local function nodes_of(options)
  return tonumber((options["nodes"] or "1"):match("^(%d+)")) or 1
end

local function gpus_asked_for(options)
  local total = gpus_in(options["gpus"], true)
  if total > 0 then return total end
  local each = gpus_in(options["gpus-per-node"], true)
  if each == 0 then each = gpus_in(options["gres"], false) end
  if each > 0 then return each * nodes_of(options) end
  return gpus_in(options["gpus-per-task"], true) * (tonumber(options["ntasks"]) or 1)
end

function slurm_cli_setup_defaults(options, early_pass)
  return slurm.SUCCESS
end

function slurm_cli_pre_submit(options, pack_offset)
  local spank = (options["spank"] or {})["llmres"] or {}
  if spank["llm-job"] == nil and spank["llm-model"] == nil then return slurm.SUCCESS end
  local count = gpus_asked_for(options)
  if count > 0 then
    stdlib.setenv("LLMRES_GPUS", tostring(count))
  elseif os.getenv("SLURM_JOB_ID") == nil then  -- a step keeps what its job was given
    stdlib.setenv("LLMRES_GPUS", "")
    if spank["llm-gpus"] == nil then
      slurm.log_error("llmres: the job asks for no GPU: --gres, --gpus, --gpus-per-node or --llm-gpus")
      return slurm.ERROR
    end
  end
  return slurm.SUCCESS
end

function slurm_cli_post_submit(offset, job_id, step_id)
  return slurm.SUCCESS
end

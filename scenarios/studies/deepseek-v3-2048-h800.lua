-- DeepSeek-V3 on 2,048 H800, as it was trained: does DualPipe hide the exchange of tokens?
--
-- 16 pipeline stages, experts over 64 GPUs (8 nodes), fp8, no tensor parallel (DeepSeek-V3 Technical Report, section 3). The
-- report's 180,000 GPU hours per 10^12 tokens, restarts included, are 19.9 s for a batch of 15,360 sequences. Try
-- --set job.schedule=1f1b and see where the time goes then.
local o, u = require "podwright", require "podwright.units"

return o.scenario "DeepSeek-V3 on 2,048 H800" {
  cluster = o.cluster "nodes" {
    node    = o.node { server = "HGX H800 8-GPU baseboard" },
    nodes   = 256,
    network = o.network { topology = "rail_optimized", port_rate = 400 * u.Gbps },
  },
  job = o.train "pre-training" {
    model             = o.model "deepseek-v3-mtp",
    sequence          = 4096,
    global_batch      = 15360,
    micro_batch       = 1,
    pipeline_parallel = 16,
    expert_parallel   = 64,
    schedule          = "dualpipe",
    precision         = "fp8",
    sharding          = "zero1",
    stack             = "hai-llm-2024",
    recompute_modules = "layernorm, mla_up_proj",
    fp8_activations   = true, -- SwiGLU inputs are stored in fp8 (section 3.3)
  },
}

-- LoRA of Llama-2-70B on one DGX H100: adapters of rank 16 on the attention matrices, as MLPerf's fine-tuning benchmark has
-- them.
--
-- Try --set job.trainable=all: the optimizer alone would not fit. Try --set job.lora_targets="qkv proj fc1 fc2".
local o = require "podwright"

return o.scenario "Llama-2-70B LoRA on 8 H100" {
  cluster = o.cluster "node" { node = o.node { server = "DGX H100" } },
  job = o.train "adapters" {
    model           = o.model "llama2-70b",
    sequence        = 8192,
    global_batch    = 8,
    tensor_parallel = 8,
    precision       = "fp8",
    trainable       = "lora",
    lora_rank       = 16,
    lora_targets    = "qkv proj",
    stack           = "nemo-2024",
  },
}

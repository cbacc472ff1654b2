-- BERT-Large pre-training on one DGX: 8 V100 here; --set cluster.node.server="DGX A100 640GB" for 8 A100.
--
-- Published (NVIDIA DeepLearningExamples, PyTorch 21.11, mixed precision, 128 tokens): 1,746 sequences/s on 8 V100 at
-- micro-batches of 64, 4,591 on 8 A100 at 256 (--set job.micro_batch=256 --set job.global_batch=65536): 2.6 times.
local o = require "podwright"

return o.scenario "BERT-Large on 8 GPUs" {
  cluster = o.cluster "node" { node = o.node { server = "DGX-1 V100" } },
  job = o.train "phase 1" {
    model        = o.model "bert-large",
    sequence     = 128,
    global_batch = 32768,
    micro_batch  = 64,
    precision    = "fp16",
    optimizer    = "lamb",
    sharding     = "none",
    stack        = "deeplearningexamples-pytorch",
  },
}

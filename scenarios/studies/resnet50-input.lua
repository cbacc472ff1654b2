-- ResNet-50 on one DGX A100: do the GPUs decide, or the pipeline that feeds them?
--
-- Eight A100 with MXNet train about 3,000 images/s each, so the pipeline must read 2.7 GB/s and decode 24,000 images/s.
-- 128 cores at 300 images/s each prepare 38,000: enough. Try --set job.input.cores=8 (half the cores: decoding decides),
-- --set job.input.store_bandwidth=2GBps (the store decides), or --set job.input.prefetch=none (nothing is prepared ahead).
local o, u = require "podwright", require "podwright.units"

return o.scenario "ResNet-50 and its input on a DGX A100" {
  cluster = o.cluster "dgx" { node = o.node { server = "DGX A100 640GB" }, nodes = 1 },
  job = o.convnet "training" {
    model     = o.image_model "resnet50-v1.5",
    batch     = 256,
    precision = "fp16",
    stack     = "mxnet-2020",
    input     = o.input {
      image_size         = 110 * u.kB, -- ImageNet's mean JPEG
      store_bandwidth    = 6 * u.GBps, -- the node's NVMe disks
      shared             = false,
      decode_per_core    = 300,
      cores              = 16,
    },
  },
}

---@meta podwright
-- Definitions for lua-language-server; `podwright help --lua-stubs` prints this file.

---@class podwright.quantity
---@operator add(podwright.quantity): podwright.quantity
---@operator mul(number): podwright.quantity
---@operator div(number): podwright.quantity

---@class podwright.scenario A cluster and what runs on it: what a file returns.
---@field name? string Title of the report; without one, the name of the file.
---@field cluster podwright.cluster The cluster that the job runs on.
---@field job? podwright.train|podwright.replay|podwright.parameter_server|podwright.convnet|podwright.recommender|podwright.collective|podwright.background|podwright.traffic|podwright.load_trace|podwright.facility What runs on the cluster; a scenario without a job can be described, not run.
---@field algorithms? podwright.algorithm[] Algorithms of one's own for `podwright collective --algorithm NAME`.
---@field jobs? (podwright.job_on|podwright.train|podwright.replay|podwright.parameter_server|podwright.convnet|podwright.recommender|podwright.collective|podwright.background|podwright.traffic|podwright.load_trace|podwright.facility)[] Several jobs side by side, instead of job; each on nodes of its own.
---@field events? podwright.fail[] What fails while they run.
---@field meter? podwright.meter The power meter of the site, for jobs that report power.
---@field alarms? podwright.alarm[] Thresholds that are watched while the job runs, for jobs that report clocks, watts or temperatures.
---@field on? table<string, function> Functions that are called while the job runs: alarm = function(event, sim) ... end, at each alarm raised or cleared.
---@overload fun(fields: table): podwright.scenario

---@class podwright.cluster Nodes joined by a network
---@field name? string shown in reports
---@field node? podwright.node every node is like this one, but those of `more`
---@field nodes? integer how many nodes; of an NVL72 rack a node is one tray of 4 GPUs
---@field more? podwright.nodes[] nodes of other types on the same network, numbered after those above
---@field network? podwright.network switches and cables between nodes
---@field communication? podwright.communication the library that runs collectives and messages
---@field power? podwright.power limits and governor of the GPUs; left out: sustained clocks, and no power is reported
---@field cooling? podwright.cooling how GPUs give off their heat; left out: as they are usually sold, where temperatures are asked for
---@overload fun(fields: table): podwright.cluster

---@class podwright.node One server: its GPUs, how they are joined, and its network ports
---@field server? string a server of the catalogue (`podwright catalogue nodes`), e.g. "DGX H100"
---@field gpu? string an accelerator of the catalogue; left out: the server's
---@field gpus? integer GPUs per node; 0: the server's
---@field nics? integer network ports per node, a multiple or a divisor of gpus; 0: the server's
---@field nic_rate? podwright.quantity line rate of one port, one direction; left out: network.port_rate, else the server's
---@field nic_protocol? string what the network ports speak ("NDR", "RoCE 400G", "EFA v3", "Slingshot 11"): payload, switch, and rate where none is given; left out: the server's
---@field nvlink_rate? podwright.quantity line rate of all NVLinks of one GPU, one direction; left out: the GPU's
---@field scaleup_domain? integer GPUs that share NVSwitches, a multiple of gpus; 0: the server's, nodes spread evenly over the domains they need
---@field host? string kind of CPU, a row of kernel-launch ("x86", "grace"); left out: the server's
---@field gpudirect? boolean GPUDirect RDMA: a NIC reads and writes GPU memory; false: data pass through host memory
---@field pxn? boolean with rails: data for another rail first go over NVLink to the GPU beside that rail's port; false: through the spines
---@overload fun(fields: table): podwright.node

---@class podwright.nodes Nodes of another type in the same cluster
---@field node? podwright.node each of these nodes is like this one
---@field nodes? integer how many
---@overload fun(fields: table): podwright.nodes

---@class podwright.network The switches and cables between nodes
---@field topology? "single_switch"|"fat_tree"|"rail_optimized"|"rail_only"|"torus"|"mesh"|"ring"|"hypercube"|"hyperx"|"fully_connected"|"dragonfly"|"dragonfly_plus"|"custom" how switches join the nodes' network ports
---@field oversubscription? number bandwidth of the ports in use of a leaf switch over that of its uplinks; 1 is non-blocking
---@field radix? integer ports of a switch; 0 takes those of the catalogue's switch for the node
---@field port_rate? podwright.quantity line rate of one port and cable, one direction; with node.nic_rate the slower counts; left out: the node's NIC
---@field efficiency? number achievable payload over line rate; left out: the catalogue's figure for the link generation
---@field hop_latency? podwright.quantity time through one switch; left out: the catalogue's
---@field cable_latency? podwright.quantity time along one cable; left out: the catalogue's
---@field tiers? podwright.tier[] at most these tiers of a Clos network, leaves first; left out: as many as the nodes need, all of network.radix
---@field planes? integer networks of their own that share the rate of every port; bytes are spread over them
---@field leaves_per_port? integer leaves over which the rate of a port is divided; 2 is dual-ToR
---@field routing? "spray"|"ecmp"|"static"|"adaptive" how flows use equal paths: evenly over all, one by a hash, one for each destination, or the least loaded one
---@field flows_per_pair? integer flows (queue pairs) that share what one port sends to another, for routing 'ecmp' and 'adaptive'
---@field reduces? boolean its switches can sum what passes (SHARP): the algorithm sharp of collectives needs it
---@field nodes_per_switch? integer nodes with all their ports at one switch of a torus, mesh, ring, hypercube, hyperx, dragonfly or full mesh
---@field trunks? integer parallel cables between two neighbouring switches of such a network
---@field trunk_rate? podwright.quantity line rate of each of these cables, one direction; left out or 0: that of a port's cable
---@field dims? integer[] sizes of a torus, mesh or hyperx in switches; their product is nodes / nodes_per_switch
---@field group_switches? integer routers of a group of a dragonfly, leaves of one of a dragonfly_plus
---@field group_spines? integer spines of a group of a dragonfly_plus; 0: as many as leaves
---@field global_links? integer links to other groups that a router (spine) of a dragonfly has at most; every two groups get equally many
---@field paths? "minimal"|"valiant" ways through a dragonfly: with one global link, or over a third group first
---@field switches? podwright.switch[] of a custom network
---@field cables? podwright.cable[] of a custom network, between switches
---@field attachments? podwright.attach[] of a custom network: which ports are at which switch
---@field failures? podwright.failure[] switches and cables that failed or lost bandwidth; routes avoid the dead ones
---@overload fun(fields: table): podwright.network

---@class podwright.tier One tier of switches of a Clos network
---@field radix? integer ports of a switch; 0: network.radix
---@field oversubscription? number bandwidth down over bandwidth up of a switch; left out: network.oversubscription for leaves, 1 above
---@field uplink_rate? podwright.quantity line rate of a cable to the next tier, one direction; left out: that of the cables from below
---@field group? integer what one group holds: nodes of a leaf (or of a block of leaves), leaves of a pod, pods of what is above; 0: as many as fit, dealt evenly
---@overload fun(fields: table): podwright.tier

---@class podwright.switch One switch of a custom network
---@field name? string by which cables and attachments call it
---@field tier? integer how high it stands in a picture and in counts
---@overload fun(fields: table): podwright.switch

---@class podwright.cable Cables between two switches of a custom network
---@field from string name of a switch
---@field to string name of another
---@field count? integer so many parallel ones
---@field rate? podwright.quantity line rate of each, one direction; left out: network.port_rate
---@field latency? podwright.quantity time along it; left out: network.cable_latency
---@overload fun(fields: table): podwright.cable

---@class podwright.attach Ports of nodes at a switch of a custom network
---@field to string name of a switch
---@field nodes? string which nodes, counted from 0: "*", "3", "0-7", "0-3,8"
---@field ports? string which of their ports, written alike; a port at several switches divides its rate over them
---@overload fun(fields: table): podwright.attach

---@class podwright.failure A switch or cable that failed or lost bandwidth
---@field node? integer a node, counted from 0: the cables of its ports
---@field port? integer one port of that node, counted from 0; -1: all
---@field tier? integer tier of a switch, 1 for the leaves
---@field switch? integer a switch of that tier, counted from 0 over all planes and rails: all of its cables
---@field name? string a switch of a custom network
---@field link? integer only the cables to one neighbour of that switch, counted from 0 as they were built (of a leaf: uplink); -1: all
---@field capacity? number share of the bandwidth that is left; 0: dead, and routed around
---@overload fun(fields: table): podwright.failure

---@class podwright.communication The communication library of a cluster
---@field library? string "nccl" or "rccl"; left out: that of the GPU's maker
---@field version? string its version, e.g. "2.27.3": the newest constants that are not newer make the library's choice; the times on file are of 2.18 to 2.30; left out: the newest
---@field choice? "fastest"|"library" who picks algorithm and protocol where a collective names none: the least time, or the library's own cost model
---@field launch? "process_per_gpu"|"threads"|"process_for_all"|"graph"|"kernel_only"|"xla" how the host starts operations: it adds to every start, and decides where point-to-point messages change protocol
---@field stack? string software below the library between nodes, a row of network-stacks ("rdma", "efa", "tcpxo", "socket"); left out: that of the node's ports
---@overload fun(fields: table): podwright.communication

---@class podwright.power Power of the GPUs: limits, governor, spread of dies
---@field model? "on"|"off" on: clocks come from power and heat; off: they are the sustained clocks on file, and no power is reported.
---@field governor? "default"|"fixed"|"cap"|"profile" What holds the clock: default: the limit of the board; fixed: that and a clock; cap: a power cap; profile: a profile of the driver.
---@field mode? "steady"|"dynamic" steady: one clock for each kind of GPU over the run; dynamic: the controller acts as the run goes.
---@field cap? podwright.quantity Power cap of each GPU; for governor = "cap".
---@field clock? podwright.quantity Highest clock of the GPUs; for governor = "fixed". The limit of the board still holds.
---@field profile? string A row of gpu-power-profiles, e.g. "max-q-training"; for governor = "profile".
---@field temperature? podwright.quantity Temperature of the GPU dies; left out: that at which their parameters were fitted.
---@field die_classes? integer Dies that differ, in so many classes, drawn from the seed; 1: all alike, and variability holds how much the slowest loses.
---@field supplies? podwright.supplies Power supplies of a node; left out: as the catalogue has them, when something happens to them.
---@field breaker? podwright.breaker The breaker of a rack on each feed; left out: none.
---@field battery? podwright.battery The battery of each feed; left out: none.
---@field budget? podwright.power_budget Power budget of racks; left out: none.
---@field events? podwright.power_event[] What happens to feeds, supplies, breakers and mains in the run.
---@overload fun(fields: table): podwright.power

---@class podwright.supplies The power supplies of a node
---@field units? integer Power supplies of a node; 0: as the catalogue has them.
---@field unit_power? podwright.quantity Rated output of one; left out: as the catalogue has it.
---@field redundancy? string "N", "N+1", "2N", or "4+2": four of six are needed; left out: as the catalogue has it.
---@field feeds? integer Feeds that the supplies hang on, in blocks of equal size; 0: two, or one for a single supply.
---@field kind? string A row of supply-units: hold-up, overload, brake.
---@field efficiency? string A curve of supply-efficiency; left out: that of the kind.
---@field cold_share? number Cold redundancy: supplies stand by while the others stay below this load share; 0: all share the load.
---@field node_power? podwright.quantity The most that a node may draw; left out: the server's rated power.
---@field guard? "rated"|"draw" What must be left for a node to go on unbraked: rated: the most that it may draw, as firmware checks it; draw: what it draws.
---@field after_brake? "cap"|"stay" What follows the power brake: cap: caps of the GPUs that fit into what is left; stay: the brake, until everything is back.
---@field settle? podwright.quantity From the brake to the caps; left out: that of the kind.
---@field restore? podwright.quantity From the return of input to full clocks; left out: that of the kind.
---@overload fun(fields: table): podwright.supplies

---@class podwright.breaker The breaker that a rack has on each feed
---@field kind? string A row of breakers: its trip curve.
---@field power podwright.quantity Rated power.
---@field nodes integer Nodes of a rack, which hang on one breaker of each feed.
---@overload fun(fields: table): podwright.breaker

---@class podwright.battery The battery of the uninterruptible supply of each feed
---@field kind? string A row of power-batteries: store, start of generators.
---@field power podwright.quantity Rated output, of all nodes on one feed.
---@overload fun(fields: table): podwright.battery

---@class podwright.power_budget Watts of racks and of a row, divided into caps of nodes
---@field rack podwright.quantity What the nodes of a rack may draw together, at the wall.
---@field nodes integer Nodes of a rack.
---@field row? podwright.quantity What all racks may draw together; left out: the sum of theirs.
---@field policy? "uniform"|"proportional"|"priority"|"highest_first" uniform: one cap for all; proportional: by what each wants; priority: nodes in their order, the first gets all it wants; highest_first: the highest draws are cut to one level.
---@overload fun(fields: table): podwright.power_budget

---@class podwright.power_event A part of the power supply that is away for a while
---@field what string "feed a", "supply 3", "breaker b", "mains" or "mains a".
---@field at podwright.quantity When it goes, from the start of the run.
---@field lasts? podwright.quantity How long it is away; left out: for good.
---@field node? integer The first node that it takes away from, counted from 0; -1: all nodes. A breaker is that of the node's rack.
---@field nodes? integer How many nodes from that one on.
---@overload fun(fields: table): podwright.power_event

---@class podwright.cooling How the GPUs of a cluster are cooled.
---@field kind? "auto"|"air"|"cold_plate"|"immersion"|"refrigerant" how GPUs give off their heat; auto: as such GPUs are usually sold
---@field inlet? podwright.quantity air at the inlet of a node; else that of the row in cooling-devices
---@field coolant? podwright.quantity coolant at the inlet of a node; not with air
---@field slot_offset? podwright.quantity how much warmer the air is that reaches the second GPU of an air stream; else from the first one's watts and the airflow
---@field recirculation? number share of the inlet air that is the node's own exhaust
---@field fan_speed? number fixed share of the fans' full speed; else they follow the hottest GPU and the inlet
---@field flow? number flow of coolant over that of the row in cooling-devices; not with air
---@field capture? number share of a node's heat that goes to the coolant, the rest to the air; not with air
---@overload fun(fields: table): podwright.cooling

---@class podwright.train A training job: model, batch, and how they are split over the GPUs.
---@field name? string Name of the job, for reports.
---@field model podwright.model The model to train.
---@field sequence integer Tokens of a sequence.
---@field padding? number Share of a sequence's positions that hold no token and that the software leaves out (bins of lengths); 0: it computes them, or packing fills them.
---@field global_batch integer Sequences of an optimizer step, over all GPUs.
---@field micro_batch? integer Sequences of one pass through the pipeline.
---@field tensor_parallel? integer GPUs that share every layer.
---@field pipeline_parallel? integer Stages of consecutive layers.
---@field context_parallel? integer GPUs that share every sequence.
---@field context_exchange? "ring"|"all_to_all"|"all_gather"|"ring_of_all_to_all" How they meet in attention: keys and values in a ring, tokens for heads (all_to_all), all keys and values (all_gather), or all_to_all among neighbours and a ring of those.
---@field context_inner? integer With ring_of_all_to_all, GPUs of each all_to_all.
---@field data_parallel? integer Copies of the model; 0: what is left of the cluster.
---@field virtual_stages? integer Model chunks of a pipeline stage; above 1: the interleaved schedule.
---@field precision? "fp32"|"tf32"|"fp16"|"bf16"|"fp8"|"fp4"|"fp16-amp"|"bf16-amp" Number format: of the linear layers (fp32, tf32, fp16, bf16, fp8), with fp32 masters in the optimizer below 32 bits; or autocast of fp32 weights (fp16-amp, bf16-amp).
---@field recompute? "none"|"selective"|"full" Activations computed again in the backward pass: none, the attention core (selective), or whole layers (full).
---@field sharding? "none"|"zero1"|"zero2"|"zero3" What data-parallel ranks share out: the optimizer's state (zero1), gradients too (zero2), parameters too (zero3).
---@field schedule? "1f1b"|"gpipe"|"zb-h1"|"zb-h2"|"zb-v"|"v-half"|"v-min"|"dualpipe"|"dualpipev" Order of passes in the pipeline: with whole backward passes (1f1b, gpipe), or with weight gradients apart.
---@field stage_layers? integer[] Layers of each stage, or of each chunk in the order of the model; left out: as even as they go.
---@field first_stage_layers? integer Layers of the first stage; 0: as the others.
---@field last_stage_layers? integer Layers of the last stage; 0: as the others.
---@field ends_in_split? "none"|"embedding"|"output"|"both"|"auto" Whether the embedding and the output layer count as a layer each when layers are spread over chunks; auto: when the layers alone do not divide.
---@field optimizer_check? "global"|"late" global: every stage waits for the norm of all gradients before it steps; late: it steps, and undoes what fails later.
---@field trainable? "all"|"lora"|"head" What gets gradients: all weights, low-rank adapters beside frozen ones (lora), or what follows the last layer (head).
---@field frozen_layers? integer Lowest layers that are not trained, nor the embedding: the backward pass ends above them.
---@field lora_rank? integer With lora, the inner width of an adapter.
---@field lora_targets? string With lora, the matrices with an adapter, as words: qkv, proj, fc1, fc2; left out: all four.
---@field optimizer? string Rule of the update (a row of optimizers), adamw when left out: adamw-unfused, adamw-8bit, bertadam, lamb, adafactor, sgd-momentum, sgd.
---@field stack? string Software stack, a row of stacks (`podwright catalogue stacks`); left out: the newest for the GPU.
---@field sequence_parallel? "off"|"on"|"stack" Norms and dropout on a share of the tokens of each tensor-parallel rank.
---@field flash_attention? "off"|"on"|"stack" One fused attention kernel that keeps no scores.
---@field overlap_gradients? "off"|"on"|"stack" Reduce gradient buckets behind the last backward pass.
---@field overlap_parameters? "off"|"on"|"stack" Gather parameters behind computation (zero1, zero2: the first forward pass; zero3: the layers before).
---@field overlap_pipeline? "off"|"on"|"stack" Messages between stages do not hold up computation (as the stack does: of interleaved schedules alone).
---@field cuda_graphs? "off"|"on"|"stack" Launch kernels at no cost to the host.
---@field bucket_bytes? podwright.quantity Size of a gradient bucket on the wire; left out: the stack's.
---@field stack_factor? number Factor on kernel and host time, as `podwright calibrate steps` finds it; left out: the stack's on file.
---@field variability? podwright.variability How much ranks and steps differ from each other; left out: as on file.
---@field shard_group? integer Data (x context) parallel ranks that share what is sharded; groups of them repeat it (HSDP); 0: all ranks.
---@field reshard? "off"|"on"|"stack" With zero3, drop parameters after the forward pass and gather them again for the backward pass.
---@field hold_gradients? "off"|"on"|"stack" With zero2 and zero3, scatter gradients after the last micro-batch only, and keep them whole.
---@field prefetch? number With zero3, layers gathered ahead of their use; left out: as the stack does.
---@field offload_optimizer? boolean The optimizer's state is in host memory, and the CPUs update it.
---@field offload_parameters? boolean With zero3 and offload_optimizer, parameters are in host memory and come over the host link before each use.
---@field offload_activations? boolean What the backward pass needs of a layer waits in host memory.
---@field fp8_activations? boolean With fp8, the input of the MLP's activation is kept in 8 bits for the backward pass.
---@field expert_parallel? integer GPUs that share the experts of a layer; of those that share data, context and tensors.
---@field expert_tensor_parallel? integer GPUs that share every expert.
---@field expert_imbalance? number Tokens of the busiest expert-parallel rank over the mean; 1: balance is forced, as benchmarks do.
---@field expert_capacity? number Each expert gets exactly so many times the mean tokens, dropped or padded; 0: none is dropped.
---@field recompute_modules? string Parts of a layer computed again in the backward pass, as words: core_attn, layernorm, mlp, moe_act, mla_up_proj.
---@overload fun(fields: table): podwright.train

---@class podwright.model A transformer, decoder or encoder, dense or with experts: the shape that decides its cost.
---@field name? string Name of the model, for reports.
---@field layers integer Transformer layers.
---@field hidden integer Width of the hidden state.
---@field heads integer Attention heads (of queries).
---@field kv_heads? integer Heads of keys and values (grouped-query attention); 0: as many as heads.
---@field head_dim? integer Width of a head; 0: hidden / heads.
---@field ffn? integer Inner width of the MLP; 0: 4 x hidden.
---@field gated? boolean The MLP has three matrices (SwiGLU) instead of two.
---@field vocabulary integer Tokens of the vocabulary, before padding.
---@field tied? boolean The output layer shares the embedding's weights.
---@field biases? boolean Linear layers and norms carry biases (GPT-2/3); otherwise weights alone (Llama).
---@field positions? integer Learned embeddings of so many positions; 0: rotary or none.
---@field bidirectional? boolean An encoder: every token sees its whole sequence, not only those before it.
---@field post_norm? boolean Norms behind the residuals, one behind the embedding, none behind the last layer (BERT).
---@field token_types? integer Learned embeddings of so many kinds of segments (BERT: 2); 0: none.
---@field head? "language_model"|"masked_lm"|"span" What follows the last layer: the output layer for every token; for masked positions, with a next-sentence classifier (masked_lm); begin and end of an answer (span, SQuAD).
---@field masked_share? number Share of a sequence's positions that a masked_lm head predicts, rounded up, one at the least.
---@field window? integer Keys that a query of a local layer sees; 0: every layer sees the whole sequence.
---@field window_chunks? boolean The window is a chunk of the sequence (Llama 4) instead of sliding along.
---@field global_every? integer With a window, every so manieth layer sees the whole sequence; 0: none does.
---@field experts? integer Experts of a layer, of which a router picks some for each token; 0: a plain MLP.
---@field experts_per_token? integer Experts that work on a token.
---@field expert_ffn? integer Inner width of an expert; 0: as ffn.
---@field shared_ffn? integer Inner width of the experts that every token passes, together; 0: there are none.
---@field dense_layers? integer Layers at the beginning that have a plain MLP in place of experts.
---@field experts_every? integer Every so manieth layer has experts, the others a plain MLP; 0: all have.
---@field query_rank? integer Latent attention: width to which queries are compressed; 0: they are not.
---@field latent_rank? integer Latent attention (DeepSeek MLA): width to which keys and values are compressed; 0: plain attention.
---@field rotary_dim? integer Latent attention: rotary width of a head, beside head_dim; all heads share its keys.
---@field value_dim? integer Latent attention: width of a head's values; 0: head_dim.
---@field query_norm? boolean Norms of queries and keys, head by head (Qwen3).
---@field prediction_layers? integer Modules that predict further tokens (DeepSeek-V3): each a projection, a layer and the output layer once more.
---@overload fun(fields: table): podwright.model

---@class podwright.variability How much ranks and steps differ from each other.
---@field spread? number Share by which the slowest rank gets slower for every doubling of the ranks; left out: as on file.
---@field spread_from? number Ranks whose slowest one the sustained clock holds already; left out: as on file.
---@field tail_index? number Exponent of the Pareto tail of stumbles; smaller: rarer and longer; left out: as on file.
---@field tail_scale? number Least stumble of a rank in a step, as a share of its kernels' time; 0: none; left out: as on file.
---@field draws? "expected"|"sampled" expected: all ranks at the pace expected of the slowest; sampled: each rank draws its own, which simulates every rank.
---@field stragglers? integer GPUs that are slow throughout; which ones, the seed decides.
---@field straggler_slowdown? number Kernels of a straggler take so many times as long.
---@overload fun(fields: table): podwright.variability

---@class podwright.replay A recorded or scheduled program (Chakra, GOAL), run on the cluster.
---@field name? string Name of the job, for reports.
---@field trace string File of the trace, beside the scenario or below; chakra: one for each rank, "%r" stands for its number.
---@field format? "chakra"|"goal" chakra: execution traces in JSON or (.et) protobuf; goal: a schedule of all ranks, as LogGOPSim reads it.
---@field ranks? integer Number of ranks (GPUs); chakra needs it, goal says it in the file.
---@field groups? string chakra: a JSON file of process groups, {"name": [ranks]}; collectives without one are among all ranks.
---@field time_scale? number Factor on the times of computations that the trace holds.
---@field precision? "fp32"|"tf32"|"fp16"|"bf16"|"fp8"|"fp4" Number format of computations of which the trace has operations and bytes instead of a time.
---@overload fun(fields: table): podwright.replay

---@class podwright.parameter_server Training with parameter servers, or with an all-reduce for comparison.
---@field name? string Name in reports.
---@field mode? "synchronous"|"asynchronous"|"bounded"|"backup"|"all_reduce" Who waits for whom: synchronous (all meet every step), asynchronous (nobody waits), bounded (nobody is more than staleness_bound steps ahead), backup (the slowest backup_workers of a step are dropped), all_reduce (no servers).
---@field workers integer Replicas of the model, one per GPU.
---@field servers? integer Servers over which the weights are striped evenly, each in the memory of one socket.
---@field server_nodes? integer The last nodes of the cluster hold the servers and no workers; 0: servers lie on the workers' nodes.
---@field weights? podwright.quantity Size of the model; default: that of the layers.
---@field layers? podwright.fully_connected[] Fully connected layers, from the first to the last.
---@field batch? integer Examples per worker and step; 0: not said.
---@field compute? podwright.quantity Time in which a worker computes the gradient of a step; default: of the layers' kernels.
---@field device? string CPU of the table cpus that computes the layers; default: the node's GPU.
---@field precision? "fp32"|"tf32"|"fp16"|"bf16"|"fp8"|"fp4" Number format of the layers, of what is pushed and pulled.
---@field distribution? "lognormal"|"exponential" How the compute time of a step varies: lognormal, or exponential (a fixed part and an exponential rest).
---@field spread? number Standard deviation of the compute time over its mean; the exponential one takes at most 1.
---@field slow_workers? integer Workers that compute slower.
---@field slow_factor? number Their compute time over the others'.
---@field push_every? integer Asynchronous: steps whose gradients are added up for one push.
---@field fetch_every? integer Asynchronous: steps that are computed with the same pulled weights.
---@field staleness_bound? integer Bounded: steps that a worker may be ahead of the last one; 0 is synchronous.
---@field backup_workers? integer Backup: workers whose gradient a step does not wait for.
---@field apply? podwright.quantity Pushed bytes that one server applies per second; default: as server_device does, else no limit.
---@field server_device? string CPU of the table cpus, one socket per server, that applies updates and multiplies exchanged activations.
---@field steps? integer Steps of each worker to simulate; asynchronous slow workers do fewer.
---@overload fun(fields: table): podwright.parameter_server

---@class podwright.fully_connected A fully connected layer of a model on parameter servers.
---@field inputs integer Values that enter the layer.
---@field outputs integer Values that leave it.
---@field exchange? "auto"|"gradients"|"activations" What workers push: gradients (inputs x outputs values), activations (and error gradients of the batch: batch x (inputs + outputs) values, which the servers multiply), or auto: the faster one.
---@overload fun(fields: table): podwright.fully_connected

---@class podwright.convnet Training of a convolutional network, data parallel.
---@field name? string Name of the job, for reports.
---@field model podwright.image_model The network to train.
---@field batch integer Images per GPU and step.
---@field data_parallel? integer GPUs that share a step; 0: all of the cluster.
---@field precision? "fp32"|"tf32"|"fp16"|"bf16"|"fp8"|"fp4" Number format of convolutions and activations; weights are updated in fp32.
---@field optimizer? "sgd"|"lars" SGD with momentum, or LARS, which also takes two norms of every array.
---@field stack? string Software stack, a row of the table convnet-stacks; without one, the newest default.
---@field overlap_gradients? "off"|"on"|"stack" Gradient buckets are reduced behind the backward pass.
---@field channels_last? "off"|"on"|"stack" Tensors keep the channels of a pixel together, as tensor units want them; otherwise convolutions transpose.
---@field bucket? podwright.quantity Gradient bytes that are reduced together; without it, the stack's.
---@field input? podwright.input What prepares the batches; without it they are there in time.
---@overload fun(fields: table): podwright.convnet

---@class podwright.image_model A convolutional network: images in, a list of layers, a loss.
---@field name? string Name of the model, for reports.
---@field height? integer Height of an image, in pixels.
---@field width? integer Width of an image, in pixels.
---@field channels? integer Channels of an image: 3 colours.
---@field loss? "classes"|"boxes" What the last layer says: the class of the image, or boxes and their classes (SSD).
---@field layers (podwright.conv|podwright.max_pool|podwright.mean_pool|podwright.dense|podwright.add|podwright.concat|podwright.norm)[] Layers in the order in which they run.
---@overload fun(fields: table): podwright.image_model

---@class podwright.conv A convolution, with a batch norm and an activation if asked for.
---@field name? string What other layers call it.
---@field from? string Layer whose output it takes; without one, the layer before it.
---@field channels integer Channels of the output.
---@field kernel integer Height of the window, in pixels.
---@field kernel_width? integer Width of the window; 0: its height.
---@field stride? integer Pixels from one window to the next.
---@field padding? integer Zeros around the input, on each side.
---@field groups? integer Groups of channels that do not mix; as many as channels: depthwise.
---@field norm? boolean A batch norm follows.
---@field bias? boolean A bias per channel is added.
---@field activation? "none"|"relu" What follows, element by element.
---@overload fun(fields: table): podwright.conv

---@class podwright.max_pool The largest value of each window.
---@field name? string What other layers call it.
---@field from? string Layer whose output it takes; without one, the layer before it.
---@field kernel integer Height and width of the window, in pixels.
---@field stride? integer Pixels from one window to the next.
---@field padding? integer Border around the input, on each side.
---@overload fun(fields: table): podwright.max_pool

---@class podwright.mean_pool The mean of each window, or of the whole map.
---@field name? string What other layers call it.
---@field from? string Layer whose output it takes; without one, the layer before it.
---@field kernel? integer Height and width of the window, in pixels; 0: the whole map.
---@field stride? integer Pixels from one window to the next.
---@field padding? integer Border around the input, on each side.
---@overload fun(fields: table): podwright.mean_pool

---@class podwright.dense A fully connected layer over everything before it.
---@field name? string What other layers call it.
---@field from? string Layer whose output it takes; without one, the layer before it.
---@field channels integer Width of the output.
---@field bias? boolean A bias is added.
---@field activation? "none"|"relu" What follows, element by element.
---@overload fun(fields: table): podwright.dense

---@class podwright.add The sum of several outputs: a residual connection.
---@field name? string What other layers call it.
---@field from? string Layer whose output it takes; without one, the layer before it.
---@field with string Layers that are added, separated by spaces.
---@field activation? "none"|"relu" What follows, element by element.
---@overload fun(fields: table): podwright.add

---@class podwright.concat Several outputs side by side.
---@field name? string What other layers call it.
---@field from? string Layer whose output it takes; without one, the layer before it.
---@field with string Layers that are put behind it, separated by spaces; maps of different sizes are flattened.
---@overload fun(fields: table): podwright.concat

---@class podwright.norm A batch norm of its own.
---@field name? string What other layers call it.
---@field from? string Layer whose output it takes; without one, the layer before it.
---@field activation? "none"|"relu" What follows, element by element.
---@overload fun(fields: table): podwright.norm

---@class podwright.input An input pipeline: store, CPU decoding, copy to the GPU.
---@field image_size podwright.quantity Bytes of an image as stored.
---@field images_per_request? number Images that one request to the store yields; 1: every image is a file.
---@field store_bandwidth podwright.quantity What the store delivers to all its readers together.
---@field store_requests? number Requests per second that the store serves; without it, as many as the bandwidth allows.
---@field store_latency? podwright.quantity Time until a batch's first byte comes.
---@field reader_bandwidth? podwright.quantity What the readers of one GPU take at most; without it, all that the store gives.
---@field shared? boolean One store serves the cluster; otherwise every node has one of its own.
---@field decode_per_core? number Images that a CPU core decodes and augments per second; without it, that takes no time.
---@field cores? number CPU cores that prepare the images of one GPU.
---@field value_bytes? podwright.quantity Bytes of one colour of one pixel on the way to the GPU.
---@field prefetch? "none"|"batch"|"stages" What is prepared while a step runs: nothing; the next batch from end to end; a batch in each of store, decoding and copy.
---@overload fun(fields: table): podwright.input

---@class podwright.recommender Training of a recommender: tables dealt out, perceptrons data parallel.
---@field name? string Name of the job, for reports.
---@field model podwright.recommender_model The model to train.
---@field batch integer Samples per step, over all GPUs.
---@field precision? "fp32"|"tf32"|"fp16"|"bf16"|"fp8"|"fp4" Number format of tables, vectors and multiplies; the perceptrons' weights are updated in fp32.
---@field stack? string Software stack, a row of the table recommender-stacks; without one, the newest.
---@overload fun(fields: table): podwright.recommender

---@class podwright.recommender_model A recommender with embedding tables and dot interaction (DLRM).
---@field name? string Name of the model, for reports.
---@field tables integer Embedding tables: categorical features.
---@field rows number Rows of all tables together.
---@field width integer Width of a row.
---@field lookups? integer Rows that a sample takes from each table; they are summed.
---@field dense integer Dense features of a sample.
---@field bottom integer[] Layers of the perceptron of the dense features; the last is as wide as a row.
---@field top integer[] Layers of the perceptron behind the interaction.
---@overload fun(fields: table): podwright.recommender_model

---@class podwright.collective A collective over and over: communication without computation.
---@field operation? "all_reduce"|"all_gather"|"reduce_scatter"|"all_to_all"|"broadcast"|"all_to_all_v"|"reduce"|"gather"|"scatter"|"send_recv"|"barrier" The collective that all groups run.
---@field bytes podwright.quantity Its size as nccl-tests counts it: all_reduce, broadcast, reduce: per rank; all_gather, reduce_scatter, gather, scatter: in total; all_to_all: per rank in total; send_recv: of each message.
---@field algorithm? "auto"|"ring"|"tree"|"nvls"|"direct"|"nvls_tree"|"halving_doubling"|"recursive_doubling"|"bruck"|"pat"|"pairwise"|"binomial"|"chain"|"scatter_allgather"|"hierarchical"|"sharp" The algorithm; auto takes the one that the library's model takes.
---@field group_size? integer Ranks of each group; all groups run at once. 0: one group of all GPUs.
---@field grouping? "consecutive"|"strided" consecutive: a group is GPUs side by side; strided: every n-th GPU, with n the number of groups (one per node and rail, say).
---@field repeats? integer How often it is issued, one after another.
---@field gap? podwright.quantity Time from the end of one to the start of the next.
---@overload fun(fields: table): podwright.collective

---@class podwright.background Traffic that goes on at a steady rate beside jobs, until they end.
---@field pattern? "permutation"|"incast"|"all_to_all"|"ring"|"random"|"list" Who sends to whom: permutation (each to one other, random), incast (all to target), all_to_all, ring (each to the next), random (count flows between random ends), list (flows).
---@field ends? integer Ends that take part: 0 to ends - 1; 0 takes all.
---@field bytes? podwright.quantity Bytes of each flow; not with pattern list, whose flows say theirs.
---@field target? integer The end that receives in an incast.
---@field count? integer Flows of pattern random.
---@field repeats? integer How often the pattern is laid down, drawn anew each time.
---@field interval? podwright.quantity Time from one repeat to the next; of pattern random the mean time between starts, exponentially distributed.
---@field start? podwright.quantity When the first flow starts.
---@field flows? podwright.flow[] The flows of pattern list.
---@field load? number Rate of each flow as a share of a network port's payload rate; or say rate.
---@field rate? podwright.quantity Rate of each flow, where the fabric leaves it so much; or say load.
---@overload fun(fields: table): podwright.background

---@class podwright.flow One flow of a pattern: bytes from one end to another.
---@field from integer The end that sends, counted from 0.
---@field to integer The end that receives.
---@field bytes podwright.quantity Bytes to send.
---@field start? podwright.quantity When it starts.
---@overload fun(fields: table): podwright.flow

---@class podwright.traffic A question to the network: flows between ports or GPUs, as fluid, packet by packet, or both.
---@field name? string Name of the question, for reports.
---@field pattern? "permutation"|"incast"|"all_to_all"|"ring"|"random"|"list" Who sends to whom: permutation (each to one other, random), incast (all to target), all_to_all, ring (each to the next), random (count flows between random ends), list (flows).
---@field ends? integer Ends that take part: 0 to ends - 1; 0 takes all.
---@field bytes? podwright.quantity Bytes of each flow; not with pattern list, whose flows say theirs.
---@field target? integer The end that receives in an incast.
---@field count? integer Flows of pattern random.
---@field repeats? integer How often the pattern is laid down, drawn anew each time.
---@field interval? podwright.quantity Time from one repeat to the next; of pattern random the mean time between starts, exponentially distributed.
---@field start? podwright.quantity When the first flow starts.
---@field flows? podwright.flow[] The flows of pattern list.
---@field collective? string In place of a pattern: the messages of this collective over the GPUs, each after those it waits for; bytes is its size.
---@field algorithm? string Algorithm of the collective; without one, ring.
---@field between? "ports"|"gpus" What an end is: a network port (node x ports + rail), or a GPU with its way through the node.
---@field mode? "flow"|"packet"|"both" flow: max-min fair shares; packet: packet by packet; both: side by side.
---@field transport? "line"|"credit"|"dcqcn" How hosts send packets: line (at line rate), credit (paced by the receiver, trimmed packets are sent again), dcqcn (rates follow ECN marks).
---@field switches? "cut_through"|"store_and_forward" When a switch passes a packet on.
---@field paths? integer 1: a flow keeps one path, by hash (ECMP); more: it is spread over so many hashes (spray).
---@field packet? podwright.quantity A full packet with its header.
---@field header? podwright.quantity Header of a packet; 0 where the network's efficiency has paid for it.
---@field queue? podwright.quantity Limit of an output queue under transport credit, beyond which packets are trimmed; left out: 0.83 of bandwidth x round trip.
---@field buffer? podwright.quantity Limit of all queues of one switch together; left out: none.
---@field window? podwright.quantity Bytes of a flow under way under transport credit; left out: 1.5 of bandwidth x round trip.
---@field pace? number Share of its links that a receiver asks for under transport credit; left out: 0.99.
---@field congestion_control? string Row of the table congestion-control: DCQCN's parameters, marking and PFC thresholds.
---@field mark_from? podwright.quantity Queue at which ECN marking begins under dcqcn; left out: that of congestion_control.
---@field mark_to? podwright.quantity Queue from which every packet is marked; left out: that of congestion_control.
---@field mark_probability? number Probability of a mark just below mark_to; left out: that of congestion_control.
---@field pfc? "auto"|"on"|"off" Pause frames (PFC); auto: on with line and dcqcn, off with credit. Off with line or dcqcn, queues have no limit.
---@field pause? podwright.quantity Bytes from one link in a switch above which it is paused; left out: that of congestion_control.
---@field resume? podwright.quantity Bytes at or below which it is resumed; left out: that of congestion_control.
---@field headroom? podwright.quantity Room for what still comes after a pause; left out: what the link needs to lose nothing.
---@field links? integer How many of the busiest links the result lists.
---@overload fun(fields: table): podwright.traffic

---@class podwright.load_trace A changing load on the GPUs of a cluster over seconds to hours: clock, watts and heat of each.
---@field name? string Name of the trace, for reports.
---@field lasts? podwright.quantity How long it lasts.
---@field aggregate? podwright.quantity How often temperatures are looked at and nodes, racks and the site are summed.
---@field rack_nodes? integer Nodes in a rack.
---@field loads? podwright.load[] Loads on given nodes.
---@field file? string CSV of changes: time_s, node, nodes, phase (a row of load-phases), sorted by time; nodes keep a phase until the next row.
---@field random? podwright.random_jobs Jobs drawn at random, by --seed.
---@field tolerance? number Kelvin by which a die may warm or cool before its clock and watts are settled again.
---@field dies? boolean Dies differ in leakage and switching power, drawn by --seed; false: all are nominal.
---@overload fun(fields: table): podwright.load_trace

---@class podwright.load Phases of work over and over on some nodes.
---@field name? string Name of the load.
---@field phases podwright.load_phase[] What the GPUs do, one phase after the other, over and over.
---@field first_node? integer First of its nodes, counted from 0.
---@field nodes? integer How many nodes; 0: all from first_node on.
---@field start? podwright.quantity When it begins; before, the nodes are idle.
---@field lasts? podwright.quantity How long it lasts; left out: to the end.
---@field shift? podwright.quantity It begins so far into its cycle of phases.
---@overload fun(fields: table): podwright.load

---@class podwright.load_phase A rate of work of a GPU for a while.
---@field name? string A row of the table load-phases, whose figures the other fields replace.
---@field lasts? podwright.quantity How long the phase lasts.
---@field tensor? number Matrix arithmetic, as a share of the peak at this precision.
---@field precision? "fp32"|"tf32"|"fp16"|"bf16"|"fp8"|"fp4" Precision of the matrix arithmetic.
---@field vector? number Other arithmetic, as a share of the peak at fp32 without matrix units.
---@field memory? number Traffic of the GPU's memory, as a share of its bandwidth.
---@field link? number Traffic over NVLink (without it PCIe), as a share of the bandwidth of one direction.
---@field busy? number Share of the time in which a kernel is resident.
---@field compute? number Share of the time that arithmetic takes and a slower clock stretches; at most busy.
---@overload fun(fields: table): podwright.load_phase

---@class podwright.random_jobs Jobs drawn at random: where, when and what.
---@field nodes? number Nodes of a job: mean of a geometric distribution.
---@field lasts? podwright.quantity How long a job lasts: mean of an exponential distribution.
---@field share? number Share of the nodes in use at most.
---@field mix podwright.load[] What a job may do, each as likely: phases of these loads.
---@overload fun(fields: table): podwright.random_jobs

---@class podwright.facility A site or several over hours to years: energy by part, PUE, carbon, water, cost.
---@field name? string Name of the facility, for reports.
---@field duration? podwright.quantity Simulated span, from 00:00 on 1 January; years have 365 days; up to 20 of them.
---@field new_year? "monday"|"tuesday"|"wednesday"|"thursday"|"friday"|"saturday"|"sunday" Weekday of 1 January.
---@field demand? podwright.demand How busy the cluster is.
---@field sites? podwright.site[] Where it stands; several sites meet the same demand side by side, to compare them.
---@field economics? podwright.economics Prices and lifetimes; left out: no cost but energy's.
---@field tokens_per_s? number Tokens that the whole cluster yields per second at utilization 1, from a job's own run.
---@overload fun(fields: table): podwright.facility

---@class podwright.demand How busy the cluster of a facility is, over time, and what it then draws.
---@field profile? "constant"|"week"|"phases"|"file" Shape over time: constant; week (working hours, nights, weekends); phases (a mix of jobs, repeated); file (CSV).
---@field utilization? number How busy the cluster is, 0 to 1: always (profile constant) or in working hours (week); left out: 1.
---@field night? number Profile week: utilization outside working hours; left out: as utilization.
---@field weekend? number Profile week: utilization on Saturday and Sunday; left out: as night.
---@field day_from? podwright.quantity Profile week: working hours begin, from midnight; left out: 8 hours.
---@field day_to? podwright.quantity Profile week: working hours end, from midnight; left out: 20 hours.
---@field phases? podwright.phase[] Profile phases: the steps of the mix, repeated to the end of the span.
---@field file? string Profile file: CSV with the column utilization or it_power_W, and hour (from the beginning, rising), or one row for each hour, repeated.
---@field gpu_power? podwright.quantity Mean power of a GPU of a busy node; left out: what GPUs that their power limit holds draw on average.
---@field switch_power? podwright.quantity Power of one switch of the cluster's network; left out: the catalogue's, or none where that is not known.
---@field idle? podwright.quantity Power of all IT at utilization 0, in place of the cluster's nodes; goes with peak.
---@field peak? podwright.quantity Power of all IT at utilization 1, in place of the cluster's nodes.
---@field fan_share? number With peak: share of IT power that the nodes' fans take; left out: not known, and no ITUE.
---@field supply_loss_share? number With peak: share of IT power lost in the nodes' supplies; left out: not known, and no ITUE.
---@overload fun(fields: table): podwright.demand

---@class podwright.phase One step of a mix of jobs: so busy for so long.
---@field duration podwright.quantity How long this step of the mix lasts.
---@field utilization number How busy the cluster is meanwhile.
---@overload fun(fields: table): podwright.phase

---@class podwright.site Where a facility stands: what cools and feeds it, what its energy costs and emits.
---@field name? string Name of the site, for reports.
---@field weather? string A climate of the catalogue (`podwright catalogue climates`), or a file: CSV by the hour, or EnergyPlus weather (.epw).
---@field plant? podwright.plant What takes the heat outside; left out: nothing does.
---@field capture? number Share of the IT's heat that goes to liquid; left out: all or none where the plant takes one kind of heat alone, else as the nodes' GPUs are cooled.
---@field node_fans? number Power of the nodes' fans over that of nodes cooled by air alone; left out: from the heat that is left to air.
---@field trip? podwright.quantity Protection: the IT goes idle when the loops' water is so much warmer than in steady state at full load; left out: never.
---@field failures? podwright.plant_failure[] Parts of the plant that fail and come back.
---@field pue? number A PUE as stated: cooling and losses are pue - 1 of IT power at all times, and nothing of them is simulated.
---@field chain? string[] Stages of the power chain, rows of power-stages, from the racks to the meter; PDUs, busways and UPS carry the IT, transformers all; left out: no losses.
---@field chain_share? number Share of their rated output that the stages carry at the IT's peak; half as much where feeds are doubled.
---@field other? number Lighting, offices and the like, as a share of the IT's peak power, at all times.
---@field price? string Row of prices with the price of a kWh.
---@field price_per_kWh? number Price of a kWh in the currency of the economics, in place of the row.
---@field tariff? string Rows of the table tariffs: factors on the price by hour, weekday and month.
---@field tariff_file? string CSV with the column price_per_kWh, and hour, or one row for each hour, repeated; in place of price and tariff.
---@field demand_charge? number Money for each kW of a month's peak.
---@field grid? string Row of prices with the grid's kg of CO2e for a kWh.
---@field grid_kg_per_kWh? number The grid's kg of CO2e for a kWh, in place of the row.
---@field grid_file? string CSV with the column kg_per_kWh, and hour, or one row for each hour, repeated; in place of the row.
---@field grid_water? number Litres of water that the grid consumes for a kWh; with it the result has WUE at the source.
---@field water_price? number Money for a m^3 of water.
---@overload fun(fields: table): podwright.site

---@class podwright.plant A cooling plant: what takes the heat of a site outside.
---@field type string a plant of the catalogue (`podwright catalogue cooling-plants`), e.g. "warm-water towers"
---@field liquid_supply? podwright.quantity set point of the liquid that goes to racks; else the row's
---@field air_supply? podwright.quantity set point of the air that goes to racks; else the row's
---@field design? podwright.quantity heat that the plant is built for; else the most that the site can make
---@field economiser? boolean cool without chillers as far as the weather allows
---@overload fun(fields: table): podwright.plant

---@class podwright.plant_failure Parts of a cooling plant that are down for a while.
---@field part "cdu_pumps"|"loop_pumps"|"chilled_pumps"|"condenser_pumps"|"fans"|"chillers"|"air_fans" What fails: pumps (flow), fans (speed), chillers (capacity).
---@field at podwright.quantity When it fails, from the beginning.
---@field duration? podwright.quantity How long it is down; left out: to the end.
---@field left? number Share of all such parts that still works.
---@overload fun(fields: table): podwright.plant_failure

---@class podwright.economics What a facility's hardware costs, over how long, and what it is compared with.
---@field currency? "USD"|"CNY" Currency of every figure of money here and in the result; rows of prices are converted by the row 'exchange CNY per USD'.
---@field server_price? number Price of a node; left out: the row of prices called after the server ('DGX H100 system price').
---@field network_price? number A node's share of the network; left out: by ports and tiers, from the table network-prices.
---@field facility_price? number Building, power and cooling for a W of IT power at utilization 1; left out: the row 'facility capex'.
---@field server_years? number Years over which servers and network are written off, in equal parts; left out: the row 'depreciation of GPU servers'.
---@field facility_years? number Years over which the building is written off; left out: the row 'facility depreciation'.
---@field server_maintenance? number A year's maintenance of servers and network as a share of their price; left out: the row 'maintenance of servers'.
---@field facility_maintenance? number The same for the building; left out: the row 'maintenance of facility'.
---@field cloud? string Row of prices with the price of a GPU-hour, to compare with.
---@field cloud_price? number Price of a GPU-hour to compare with, in place of the row.
---@field cloud_discount? number Share taken off that price for a reservation; left out: none.
---@field cloud_gpu_share? number Share of the cloud's bill that GPUs are (the rest: storage, egress); left out: all.
---@field embodied_kg? number kg of CO2e of making a node; left out: the table embodied-carbon by GPU.
---@overload fun(fields: table): podwright.economics

---@class podwright.algorithm An algorithm for collectives, written as a list of messages.
---@field name? string What --algorithm calls it.
---@field kind "all_reduce"|"all_gather"|"reduce_scatter"|"all_to_all"|"broadcast"|"all_to_all_v"|"reduce"|"gather"|"scatter"|"send_recv"|"barrier" The collective that it does.
---@field ranks integer Ranks of the groups that it is for.
---@field blocks? integer Equal blocks that the buffer is cut into; 0: one for each rank.
---@field steps podwright.step[] Its messages in order of round. What they carry is followed: an algorithm that does not do its kind is refused.
---@overload fun(fields: table): podwright.algorithm

---@class podwright.step One message of an algorithm for collectives.
---@field round integer Rounds count from 0; a message starts when its sender and receiver have done those of their earlier rounds.
---@field from integer The rank that sends, by its place in the group, from 0 on.
---@field to integer The rank that receives.
---@field block? integer The first block that it carries, from 0 on. Of all_gather, reduce_scatter, gather, scatter and all_to_all each rank owns, or gets, as many in turn.
---@field blocks? integer How many blocks from there on, after the last one the first again.
---@field source? integer all_to_all: the rank in whose buffer they lie; -1: the sender.
---@overload fun(fields: table): podwright.step

---@class podwright.job_on A job and the nodes it runs on, beside other jobs.
---@field name? string What reports call it; without one, its kind and number.
---@field job podwright.train|podwright.replay|podwright.parameter_server|podwright.convnet|podwright.recommender|podwright.collective|podwright.background|podwright.traffic|podwright.load_trace|podwright.facility What runs.
---@field nodes? integer How many nodes it gets, all of their GPUs; 0: all that no other job has.
---@field first_node? integer Where its nodes begin; -1: at the first free one.
---@field placement? "packed"|"spread"|"fragmented"|"strided" packed: free nodes in order; spread: dealt over the leaf switches; fragmented: drawn from all free ones, in order; strided: every stride-th.
---@field stride? integer Distance of nodes with placement strided.
---@field node_list? integer[] Exactly these nodes, in this order, instead of all that.
---@field start? podwright.quantity When it starts.
---@field steps? integer How often the job runs, one step of training each time; the next begins when all ranks have ended.
---@field gap? podwright.quantity Time between the end of a step and the next.
---@field forever? boolean It goes on until the jobs that are to end have ended (a noisy neighbour).
---@overload fun(fields: table): podwright.job_on

---@class podwright.fail A cable or switch that loses capacity while jobs run.
---@field from? string One end of the cable that fails: "leaf 3", "nic 12".
---@field to? string The other end: "spine 1".
---@field switch? string Or the switch that fails: "spine 1".
---@field at podwright.quantity When.
---@field repaired? podwright.quantity When it is whole again; left out: never.
---@field capacity? number Share of its bandwidth that is left meanwhile.
---@overload fun(fields: table): podwright.fail

---@class podwright.meter The power meter of the site: instruments, limits of the utility, smoothing.
---@field instruments? string[] Rows of the table power-meters: how long each averages and how often it reads.
---@field skip? podwright.quantity So much at the beginning is not looked at.
---@field repeat_for? podwright.quantity The signal, of one step say, over and over for so long; left out: as it is.
---@field jitter? number When repeated: nodes take longer by a share of this deviation, new in every repetition, and wait for each other.
---@field spread? number When repeated: powers of nodes differ by a share of this deviation.
---@field grid? podwright.grid_limits What the utility asks.
---@field smoothing? podwright.smoothing What smooths power before the grid sees it.
---@overload fun(fields: table): podwright.meter

---@class podwright.grid_limits What a utility asks of a load: ramps, range and swings, as shares of the connection.
---@field name? string A row of the table grid-limits, whose limits the other fields replace.
---@field connection? podwright.quantity Power that was agreed with the utility; the limits are shares of it. Left out: the largest mean of 15 s.
---@field ramp_up? number Most that power may rise in a second, as a share of the connection.
---@field ramp_down? number Most that power may fall in a second, as a share of the connection.
---@field ramp_window? podwright.quantity Ramps and the range compare means over so long.
---@field range? number Most that the largest mean of a window may lie above the smallest, as a share of the connection.
---@field band_from? podwright.quantity Lower end of the band that amplitude limits.
---@field band_to? podwright.quantity Upper end of that band.
---@field amplitude? number Most that power may swing in the band, as a share of the connection: half of peak to peak of a sine that swings as much as all of it.
---@field bands? podwright.grid_band[] Further bands with limits of their own.
---@overload fun(fields: table): podwright.grid_limits

---@class podwright.grid_band A band of frequencies in which a utility limits how much power may swing.
---@field from podwright.quantity Lower end of the band.
---@field to podwright.quantity Upper end of the band.
---@field amplitude number Most that power may swing in the band, as a share of the connection: half of peak to peak of a sine that swings as much as all of it.
---@overload fun(fields: table): podwright.grid_band

---@class podwright.smoothing Smoothing of power before the grid sees it: ramp limits, a floor, storage; figures of one GPU.
---@field name? string A row of the table power-smoothing, whose figures the other fields replace.
---@field ramp_up? podwright.quantity Most that a GPU's power may rise in a second; left out: no limit.
---@field ramp_down? podwright.quantity Most that a GPU's power may fall in a second (the rest is burned or stored); left out: no limit.
---@field floor? podwright.quantity Power of a GPU below which it burns what is missing; left out: none.
---@field floor_hold? podwright.quantity How long the floor is held after the load was last above it.
---@field storage? podwright.quantity Energy that a GPU's share of the store holds; left out: no store.
---@field storage_power? podwright.quantity Most that its share takes or gives; left out: no limit.
---@field storage_efficiency? number Energy that comes back over energy that went in; needed with a store.
---@field averaging? podwright.quantity With a store, the grid follows the load averaged over so long.
---@field interval? podwright.quantity How often the controller acts.
---@overload fun(fields: table): podwright.smoothing

---@class podwright.alarm A threshold on a metric of GPUs, nodes, racks or the site.
---@field name? string Name of the alarm.
---@field metric "power_W"|"utilization_%"|"clock_MHz"|"temperature_C"|"memory_temperature_C"|"clock_reasons"|"tensor_use"|"memory_use"|"link_tx_Bps"|"fan_share" What is watched, as --metrics-csv writes it.
---@field of? "site"|"rack"|"node"|"gpu" Whose: of every GPU, node or rack, or of the site.
---@field above? number It is raised above so much, in the unit of the metric's name.
---@field below? number It is raised below so much, in the unit of the metric's name.
---@field for_at_least? podwright.quantity Only when that has held for so long.
---@overload fun(fields: table): podwright.alarm

---@class podwright
local o = {}
---A cluster and what runs on it: what a file returns.
---@param fields podwright.scenario|string a table of fields, or a name
---@return podwright.scenario
function o.scenario(fields) end
---Nodes joined by a network
---@param fields podwright.cluster|string a table of fields, or a name
---@return podwright.cluster
function o.cluster(fields) end
---One server: its GPUs, how they are joined, and its network ports
---@param fields podwright.node|string a table of fields, or a name
---@return podwright.node
function o.node(fields) end
---Nodes of another type in the same cluster
---@param fields podwright.nodes|string a table of fields, or a name
---@return podwright.nodes
function o.nodes(fields) end
---The switches and cables between nodes
---@param fields podwright.network|string a table of fields, or a name
---@return podwright.network
function o.network(fields) end
---One tier of switches of a Clos network
---@param fields podwright.tier|string a table of fields, or a name
---@return podwright.tier
function o.tier(fields) end
---One switch of a custom network
---@param fields podwright.switch|string a table of fields, or a name
---@return podwright.switch
function o.switch(fields) end
---Cables between two switches of a custom network
---@param fields podwright.cable|string a table of fields, or a name
---@return podwright.cable
function o.cable(fields) end
---Ports of nodes at a switch of a custom network
---@param fields podwright.attach|string a table of fields, or a name
---@return podwright.attach
function o.attach(fields) end
---A switch or cable that failed or lost bandwidth
---@param fields podwright.failure|string a table of fields, or a name
---@return podwright.failure
function o.failure(fields) end
---The communication library of a cluster
---@param fields podwright.communication|string a table of fields, or a name
---@return podwright.communication
function o.communication(fields) end
---Power of the GPUs: limits, governor, spread of dies
---@param fields podwright.power|string a table of fields, or a name
---@return podwright.power
function o.power(fields) end
---The power supplies of a node
---@param fields podwright.supplies|string a table of fields, or a name
---@return podwright.supplies
function o.supplies(fields) end
---The breaker that a rack has on each feed
---@param fields podwright.breaker|string a table of fields, or a name
---@return podwright.breaker
function o.breaker(fields) end
---The battery of the uninterruptible supply of each feed
---@param fields podwright.battery|string a table of fields, or a name
---@return podwright.battery
function o.battery(fields) end
---Watts of racks and of a row, divided into caps of nodes
---@param fields podwright.power_budget|string a table of fields, or a name
---@return podwright.power_budget
function o.power_budget(fields) end
---A part of the power supply that is away for a while
---@param fields podwright.power_event|string a table of fields, or a name
---@return podwright.power_event
function o.power_event(fields) end
---How the GPUs of a cluster are cooled.
---@param fields podwright.cooling|string a table of fields, or a name
---@return podwright.cooling
function o.cooling(fields) end
---A training job: model, batch, and how they are split over the GPUs.
---@param fields podwright.train|string a table of fields, or a name
---@return podwright.train
function o.train(fields) end
---A transformer, decoder or encoder, dense or with experts: the shape that decides its cost.
---@param fields podwright.model|string a table of fields, or a name
---@return podwright.model
function o.model(fields) end
---How much ranks and steps differ from each other.
---@param fields podwright.variability|string a table of fields, or a name
---@return podwright.variability
function o.variability(fields) end
---A recorded or scheduled program (Chakra, GOAL), run on the cluster.
---@param fields podwright.replay|string a table of fields, or a name
---@return podwright.replay
function o.replay(fields) end
---Training with parameter servers, or with an all-reduce for comparison.
---@param fields podwright.parameter_server|string a table of fields, or a name
---@return podwright.parameter_server
function o.parameter_server(fields) end
---A fully connected layer of a model on parameter servers.
---@param fields podwright.fully_connected|string a table of fields, or a name
---@return podwright.fully_connected
function o.fully_connected(fields) end
---Training of a convolutional network, data parallel.
---@param fields podwright.convnet|string a table of fields, or a name
---@return podwright.convnet
function o.convnet(fields) end
---A convolutional network: images in, a list of layers, a loss.
---@param fields podwright.image_model|string a table of fields, or a name
---@return podwright.image_model
function o.image_model(fields) end
---A convolution, with a batch norm and an activation if asked for.
---@param fields podwright.conv|string a table of fields, or a name
---@return podwright.conv
function o.conv(fields) end
---The largest value of each window.
---@param fields podwright.max_pool|string a table of fields, or a name
---@return podwright.max_pool
function o.max_pool(fields) end
---The mean of each window, or of the whole map.
---@param fields podwright.mean_pool|string a table of fields, or a name
---@return podwright.mean_pool
function o.mean_pool(fields) end
---A fully connected layer over everything before it.
---@param fields podwright.dense|string a table of fields, or a name
---@return podwright.dense
function o.dense(fields) end
---The sum of several outputs: a residual connection.
---@param fields podwright.add|string a table of fields, or a name
---@return podwright.add
function o.add(fields) end
---Several outputs side by side.
---@param fields podwright.concat|string a table of fields, or a name
---@return podwright.concat
function o.concat(fields) end
---A batch norm of its own.
---@param fields podwright.norm|string a table of fields, or a name
---@return podwright.norm
function o.norm(fields) end
---An input pipeline: store, CPU decoding, copy to the GPU.
---@param fields podwright.input|string a table of fields, or a name
---@return podwright.input
function o.input(fields) end
---Training of a recommender: tables dealt out, perceptrons data parallel.
---@param fields podwright.recommender|string a table of fields, or a name
---@return podwright.recommender
function o.recommender(fields) end
---A recommender with embedding tables and dot interaction (DLRM).
---@param fields podwright.recommender_model|string a table of fields, or a name
---@return podwright.recommender_model
function o.recommender_model(fields) end
---A collective over and over: communication without computation.
---@param fields podwright.collective|string a table of fields, or a name
---@return podwright.collective
function o.collective(fields) end
---Traffic that goes on at a steady rate beside jobs, until they end.
---@param fields podwright.background|string a table of fields, or a name
---@return podwright.background
function o.background(fields) end
---One flow of a pattern: bytes from one end to another.
---@param fields podwright.flow|string a table of fields, or a name
---@return podwright.flow
function o.flow(fields) end
---A question to the network: flows between ports or GPUs, as fluid, packet by packet, or both.
---@param fields podwright.traffic|string a table of fields, or a name
---@return podwright.traffic
function o.traffic(fields) end
---A changing load on the GPUs of a cluster over seconds to hours: clock, watts and heat of each.
---@param fields podwright.load_trace|string a table of fields, or a name
---@return podwright.load_trace
function o.load_trace(fields) end
---Phases of work over and over on some nodes.
---@param fields podwright.load|string a table of fields, or a name
---@return podwright.load
function o.load(fields) end
---A rate of work of a GPU for a while.
---@param fields podwright.load_phase|string a table of fields, or a name
---@return podwright.load_phase
function o.load_phase(fields) end
---Jobs drawn at random: where, when and what.
---@param fields podwright.random_jobs|string a table of fields, or a name
---@return podwright.random_jobs
function o.random_jobs(fields) end
---A site or several over hours to years: energy by part, PUE, carbon, water, cost.
---@param fields podwright.facility|string a table of fields, or a name
---@return podwright.facility
function o.facility(fields) end
---How busy the cluster of a facility is, over time, and what it then draws.
---@param fields podwright.demand|string a table of fields, or a name
---@return podwright.demand
function o.demand(fields) end
---One step of a mix of jobs: so busy for so long.
---@param fields podwright.phase|string a table of fields, or a name
---@return podwright.phase
function o.phase(fields) end
---Where a facility stands: what cools and feeds it, what its energy costs and emits.
---@param fields podwright.site|string a table of fields, or a name
---@return podwright.site
function o.site(fields) end
---A cooling plant: what takes the heat of a site outside.
---@param fields podwright.plant|string a table of fields, or a name
---@return podwright.plant
function o.plant(fields) end
---Parts of a cooling plant that are down for a while.
---@param fields podwright.plant_failure|string a table of fields, or a name
---@return podwright.plant_failure
function o.plant_failure(fields) end
---What a facility's hardware costs, over how long, and what it is compared with.
---@param fields podwright.economics|string a table of fields, or a name
---@return podwright.economics
function o.economics(fields) end
---An algorithm for collectives, written as a list of messages.
---@param fields podwright.algorithm|string a table of fields, or a name
---@return podwright.algorithm
function o.algorithm(fields) end
---One message of an algorithm for collectives.
---@param fields podwright.step|string a table of fields, or a name
---@return podwright.step
function o.step(fields) end
---A job and the nodes it runs on, beside other jobs.
---@param fields podwright.job_on|string a table of fields, or a name
---@return podwright.job_on
function o.job_on(fields) end
---A cable or switch that loses capacity while jobs run.
---@param fields podwright.fail|string a table of fields, or a name
---@return podwright.fail
function o.fail(fields) end
---The power meter of the site: instruments, limits of the utility, smoothing.
---@param fields podwright.meter|string a table of fields, or a name
---@return podwright.meter
function o.meter(fields) end
---What a utility asks of a load: ramps, range and swings, as shares of the connection.
---@param fields podwright.grid_limits|string a table of fields, or a name
---@return podwright.grid_limits
function o.grid_limits(fields) end
---A band of frequencies in which a utility limits how much power may swing.
---@param fields podwright.grid_band|string a table of fields, or a name
---@return podwright.grid_band
function o.grid_band(fields) end
---Smoothing of power before the grid sees it: ramp limits, a floor, storage; figures of one GPU.
---@param fields podwright.smoothing|string a table of fields, or a name
---@return podwright.smoothing
function o.smoothing(fields) end
---A threshold on a metric of GPUs, nodes, racks or the site.
---@param fields podwright.alarm|string a table of fields, or a name
---@return podwright.alarm
function o.alarm(fields) end

---@class podwright.units
local u = {}
---@type podwright.quantity byte
u.B = nil
---@type podwright.quantity 10^3 bytes
u.kB = nil
---@type podwright.quantity 10^6 bytes
u.MB = nil
---@type podwright.quantity 10^9 bytes
u.GB = nil
---@type podwright.quantity 10^12 bytes
u.TB = nil
---@type podwright.quantity 10^15 bytes
u.PB = nil
---@type podwright.quantity 2^10 bytes
u.KiB = nil
---@type podwright.quantity 2^20 bytes
u.MiB = nil
---@type podwright.quantity 2^30 bytes
u.GiB = nil
---@type podwright.quantity 2^40 bytes
u.TiB = nil
---@type podwright.quantity byte/s
u.Bps = nil
---@type podwright.quantity 10^3 bytes/s
u.kBps = nil
---@type podwright.quantity 10^6 bytes/s
u.MBps = nil
---@type podwright.quantity 10^9 bytes/s
u.GBps = nil
---@type podwright.quantity 10^12 bytes/s
u.TBps = nil
---@type podwright.quantity 10^15 bytes/s
u.PBps = nil
---@type podwright.quantity 10^6 bits/s
u.Mbps = nil
---@type podwright.quantity 10^9 bits/s
u.Gbps = nil
---@type podwright.quantity 10^12 bits/s
u.Tbps = nil
---@type podwright.quantity 10^-12 s
u.ps = nil
---@type podwright.quantity 10^-9 s
u.ns = nil
---@type podwright.quantity 10^-6 s
u.us = nil
---@type podwright.quantity 10^-3 s
u.ms = nil
---@type podwright.quantity second
u.s = nil
---@type podwright.quantity 60 s
u.min = nil
---@type podwright.quantity 3,600 s
u.hour = nil
---@type podwright.quantity 86,400 s
u.day = nil
---@type podwright.quantity 1/s
u.Hz = nil
---@type podwright.quantity 10^3 Hz
u.kHz = nil
---@type podwright.quantity 10^6 Hz
u.MHz = nil
---@type podwright.quantity 10^9 Hz
u.GHz = nil
---@type podwright.quantity floating point operation/s
u.FLOPs = nil
---@type podwright.quantity 10^9 operations/s
u.GFLOPs = nil
---@type podwright.quantity 10^12 operations/s
u.TFLOPs = nil
---@type podwright.quantity 10^15 operations/s
u.PFLOPs = nil
---@type podwright.quantity 10^18 operations/s
u.EFLOPs = nil
---@type podwright.quantity watt
u.W = nil
---@type podwright.quantity 10^3 W
u.kW = nil
---@type podwright.quantity 10^6 W
u.MW = nil
---@type podwright.quantity 10^9 W
u.GW = nil
---@type podwright.quantity degree Celsius
u.degC = nil
---@type podwright.quantity joule
u.J = nil
---@type podwright.quantity 10^3 J
u.kJ = nil
---@type podwright.quantity 10^6 J
u.MJ = nil
---@type podwright.quantity 10^9 J
u.GJ = nil
---@type podwright.quantity 3,600 J
u.Wh = nil
---@type podwright.quantity 3.6 x 10^6 J
u.kWh = nil
---@type podwright.quantity 3.6 x 10^9 J
u.MWh = nil

return o

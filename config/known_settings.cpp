#include <array>

#include "config/settings.h"

namespace deepinfer::config {
namespace {

using enum ValueKind;

constexpr std::string_view kBalance = "expert parallelism";
constexpr std::string_view kComponents = "attaching external components";
constexpr std::string_view kDevice = "the CUDA backend";
constexpr std::string_view kDrafts = "speculative decoding";
constexpr std::string_view kDurable = "keeping jobs on disk";
constexpr std::string_view kGrammar = "structured output";
constexpr std::string_view kMetrics = "the metrics endpoint";
constexpr std::string_view kReuse = "prefix reuse";
constexpr std::string_view kTruncation = "prefill truncation";

// A key of this version, without a name in the reference engine.
constexpr Setting applied(std::string_view key, ValueKind kind, std::string_view words = "") {
  return {key, "", kind, words, "", ""};
}

// Sections in the order in which they are printed. What a key with a part accepts comes last.
constexpr std::array kKnown{
    applied("model.path", kText),
    applied("model.max_context", kInteger),
    Setting{"model.revision", "", kText, "", "choosing a revision", "-"},
    Setting{"model.engram_storage", "", kWord, "host|device", kDevice, "host"},
    // The variable is a yes or no; the key, above, says host or device.
    Setting{"model.engram_storage", "ENGRAM_FORCE_GPU_STORAGE", kBoolean, "", kDevice, "0"},
    Setting{"engine.backend", "", kWord, "auto|cpu|cuda", kDevice, "auto|cpu"},
    applied("engine.threads", kInteger),
    applied("engine.max_sequences", kInteger),
    applied("engine.max_batch_tokens", kInteger),
    applied("engine.prefill_chunk", kInteger),
    Setting{"engine.device_memory_fraction", "", kNumber, "", kDevice, ""},
    Setting{"engine.first_token_wait", "", kDuration, "", "waiting for a first token", "0"},
    Setting{"engine.async_scheduling", "ZERO_OVERHEAD_SCHEDULING", kBoolean, "",
            "asynchronous scheduling", "0"},
    Setting{"engine.batch_invariant", "BATCH_INVARIANT", kBoolean, "",
            "a mode that is not batch invariant", "1"},
    // The variable says the opposite.
    Setting{"engine.cuda_graphs", "ENFORCE_EAGER", kBoolean, "", kDevice, "0", true},
    Setting{"engine.graph_interval", "CUDAGRAPH_BATCH_SIZE_INTERVAL", kInteger, "", kDevice, ""},
    Setting{"engine.prefill_max_sum_context", "PREFILL_MAX_SUM_SEQLEN_K", kInteger, "",
            "a limit on summed contexts", "0"},
    Setting{"engine.index_memory", "INDEX_ATTN_MEMORY_LIMIT", kSize, "", kDevice, ""},
    Setting{"cache.block_tokens", "", kInteger, "", "another block size", "128"},
    Setting{"cache.prefix_caching", "", kBoolean, "", kReuse, "0"},
    Setting{"cache.reuse", "", kWord, "off|canonical|opportunistic", kReuse, "off"},
    Setting{"cache.host_tier_bytes", "", kSize, "", "the host cache tier", "0"},
    Setting{"cache.state_slots_ratio", "NUM_STATE_SLOTS_RATIO", kNumber, "", kReuse, ""},
    Setting{"prefill.truncation_mode", "YOCO_PREFILL_TRUNCATION_MODE", kWord,
            "off|mask|compact|exact", kTruncation, "off"},
    Setting{"prefill.keep_tokens", "YOCO_PREFILL_KEEP_TOKENS", kInteger, "", kTruncation, "0"},
    Setting{"speculative.max_draft", "USE_NEXTN_DECODE", kInteger, "", kDrafts, "0"},
    Setting{"speculative.varlen", "ENABLE_MTP_VARLEN", kBoolean, "", kDrafts, "0"},
    Setting{"speculative.acceptance", "", kWord, "shared_noise|rejection", kDrafts, ""},
    Setting{"speculative.confidence_temperature", "DFLASH_CONFIDENCE_HEAD_TEMPERATURE", kNumbers,
            "", kDrafts, "1|1.0"},
    Setting{"speculative.max_backtracking", "MAX_BACKTRACKING_TOKENS", kInteger, "", kDrafts, "0"},
    Setting{"speculative.cost_cache_dir", "DECODE_PERF_CACHE_DIR", kText, "", kDrafts, "-"},
    Setting{"speculative.cost_cache_ttl", "DECODE_PERF_CACHE_TTL_SEC", kDuration, "", kDrafts, ""},
    Setting{"grammar.compile_timeout", "XGRAMMAR_TIMEOUT", kDuration, "", kGrammar, ""},
    Setting{"grammar.cache_bytes", "XGRAMMAR_CACHE_LIMIT_BYTES", kSize, "", kGrammar, ""},
    Setting{"grammar.threads", "SO_BUILDER_CPUS", kInteger, "", kGrammar, ""},
    Setting{"grammar.mask_threads", "", kInteger, "", kGrammar, ""},
    Setting{"grammar.guard", "", kText, "", kGrammar, ""},
    Setting{"grammar.preload", "", kText, "", kGrammar, "-"},
    applied("sampling.logprobs_mode", kWord, "raw|processed"),
    Setting{"sampling.token_blacklist", "DECODE_TOKEN_BLACKLIST", kText, "", "the token blacklist",
            "-"},
    Setting{"parallel.attention_dp", "", kInteger, "", "data parallelism", "1"},
    Setting{"parallel.context_parallel", "", kInteger, "", "context parallelism", "1"},
    Setting{"parallel.expert_parallel", "", kInteger, "", kBalance, "1"},
    Setting{"parallel.eplb_extra_experts", "OVERRIDE_NUM_EXTRA_EXPERTS", kInteger, "", kBalance,
            "0"},
    Setting{"parallel.eplb_window", "EXPERT_COUNT_WINDOW_SIZE", kInteger, "", kBalance, ""},
    Setting{"parallel.eplb_interval", "EXPERT_REARRANGEMENT_STEP_INTERVAL", kInteger, "", kBalance,
            "0"},
    Setting{"parallel.eplb_stat_interval", "MOE_LB_STAT_INTERVAL", kInteger, "", kBalance, ""},
    applied("ipc.socket", kText),
    applied("ipc.ring_entries", kInteger),
    applied("ipc.arena_bytes", kSize),
    applied("ipc.max_clients", kInteger),
    applied("ipc.allowed_uids", kUsers),
    applied("ipc.allowed_gids", kGroups),
    applied("ipc.socket_mode", kMode),
    Setting{"jobs.state_dir", "", kText, "", kDurable, ""},
    Setting{"jobs.durable_default", "", kWord, "power|process|none", kDurable, "none"},
    applied("jobs.max_queued", kInteger),
    Setting{"jobs.retention", "", kDuration, "", kDurable, ""},
    applied("drain.grace", kDuration),
    Setting{"metrics.listen", "", kText, "", kMetrics, "-"},
    Setting{"metrics.textfile", "", kText, "", kMetrics, "-"},
    applied("log.level", kWord, "trace|debug|info|warning|error"),
    applied("log.format", kWord, "text|json"),
    applied("log.file", kText),
    Setting{"log.stats_interval", "LOGGING_INTERVAL_STEP", kInteger, "", "the statistics log", "0"},
    Setting{"hooks.kv_provider", "", kPlugin, "", kComponents, "-"},
    Setting{"hooks.disaggregation", "", kPlugin, "", kComponents, "-"},
    Setting{"hooks.balancer", "", kPlugin, "", kComponents, "-"},
};

constexpr std::array<std::string_view, 35> kIgnored{
    "PREFILL_ATTEMPT_INTERVAL",
    "PREFILL_ANY_ATTEMPT_INTERVAL",
    "PREFILL_STORE_EXTRA_STATE",
    "PREFILL_STORE_EXTRA_SIZE",
    "DFLASH_ENFORCE_EAGER",
    "DFLASH_CUDAGRAPH_BATCH_SIZE_INTERVAL",
    "SAMPLER_FORCE_TOPK",
    "COMPUTE_SUM_SMALLER_PROBS",
    "XGRAMMAR_DISABLE_CACHE",
    "XGRAMMAR_DEBUG",
    "REARRANGE_AFTER_PREFILL_IN_NORMAL_ENGINE",
    "REARRANGE_P2P_GROUPS",
    "FORCE_LOAD_BALANCE",
    "FORCE_IMBALANCE_RATIO",
    "SHOW_EPLB_DETAIL",
    "ENGRAM_PAD_TOKEN",
    "USE_MULTIMODAL_POOL",
    "MULTIMODAL_POOL_SIZE_GB",
    "MULTI_MODAL_BUFFER_SIZE",
    "MULTI_MODAL_WORKER_TIMEOUT",
    "GC_INTERVAL_STEP",
    "NCCL_MEMORY_SAMPLE_INTERVAL_STEPS",
    "PROFILE_HTTP_ENABLE",
    "PROFILE_HTTP_PORT_BASE",
    "TORCH_PROFILER_DIR",
    "PROFILE_TORCH_CUDA_MEMORY",
    "ENABLE_MEMORY_TRACING",
    "ACCELERATOR",
    "JIT_CACHE_DIR",
    "NCCL_NUM_SMS",
    "USERBUFFER_COMM_SMS",
    "GLOO_TIMEOUT",
    "RINGBUFFER_WARNING_INTERVAL",
    "DISABLE_SYNC_GUARD",
    "CPP_LOG_LEVEL",
};

}  // namespace

std::span<const Setting> known_settings() { return kKnown; }

std::span<const std::string_view> ignored_variables() { return kIgnored; }

}  // namespace deepinfer::config

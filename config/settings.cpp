#include "config/settings.h"

#include <array>
#include <utility>

#include "config/values.h"

namespace deepinfer::config {
namespace {

using enum ValueKind;

constexpr std::string_view kDrafts = "speculative decoding";
constexpr std::string_view kGrammar = "structured output";
constexpr std::string_view kDevice = "the CUDA backend";
constexpr std::string_view kReuse = "prefix reuse";
constexpr std::string_view kBalance = "expert parallelism";
constexpr std::string_view kDaemon = "the daemon";
constexpr std::string_view kTruncation = "prefill truncation";

// Applied by this version.
constexpr std::array kApplied{
    Setting{"model.path", "", kText, "", "", ""},
    Setting{"model.max_context", "", kInteger, "", "", ""},
    Setting{"engine.threads", "", kInteger, "", "", ""},
    Setting{"engine.max_sequences", "", kInteger, "", "", ""},
    Setting{"engine.max_batch_tokens", "", kInteger, "", "", ""},
    Setting{"engine.prefill_chunk", "", kInteger, "", "", ""},
    Setting{"sampling.logprobs_mode", "", kWord, "raw|processed", "", ""},
};

// Known, with their part still to come. ENFORCE_EAGER is the opposite of its key.
constexpr std::array kLater{
    Setting{"model.revision", "", kText, "", "choosing a revision", "-"},
    Setting{"model.engram_storage", "", kWord, "host|device", kDevice, "host"},
    Setting{"engine.backend", "", kWord, "auto|cpu|cuda", kDevice, "auto|cpu"},
    Setting{"engine.device_memory_fraction", "", kNumber, "", kDevice, ""},
    Setting{"engine.first_token_wait", "", kDuration, "", "waiting for a first token", "0"},
    Setting{"engine.async_scheduling", "ZERO_OVERHEAD_SCHEDULING", kBoolean, "",
            "asynchronous scheduling", "0"},
    Setting{"engine.batch_invariant", "BATCH_INVARIANT", kBoolean, "",
            "a mode that is not batch invariant", "1"},
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
    Setting{"speculative.confidence_temperature", "DFLASH_CONFIDENCE_HEAD_TEMPERATURE", kText, "",
            kDrafts, "1|1.0"},
    Setting{"speculative.max_backtracking", "MAX_BACKTRACKING_TOKENS", kInteger, "", kDrafts, "0"},
    Setting{"speculative.cost_cache_dir", "DECODE_PERF_CACHE_DIR", kText, "", kDrafts, "-"},
    Setting{"speculative.cost_cache_ttl", "DECODE_PERF_CACHE_TTL_SEC", kDuration, "", kDrafts, ""},
    Setting{"grammar.compile_timeout", "XGRAMMAR_TIMEOUT", kDuration, "", kGrammar, ""},
    Setting{"grammar.cache_bytes", "XGRAMMAR_CACHE_LIMIT_BYTES", kSize, "", kGrammar, ""},
    Setting{"grammar.threads", "SO_BUILDER_CPUS", kInteger, "", kGrammar, ""},
    Setting{"grammar.mask_threads", "", kInteger, "", kGrammar, ""},
    Setting{"grammar.guard", "", kText, "", kGrammar, ""},
    Setting{"grammar.preload", "", kText, "", kGrammar, "-"},
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
    Setting{"ipc.socket", "", kText, "", kDaemon, ""},
    Setting{"ipc.ring_entries", "", kInteger, "", kDaemon, ""},
    Setting{"ipc.arena_bytes", "", kSize, "", kDaemon, ""},
    Setting{"ipc.max_clients", "", kInteger, "", kDaemon, ""},
    Setting{"ipc.allowed_uids", "", kText, "", kDaemon, ""},
    Setting{"ipc.allowed_gids", "", kText, "", kDaemon, ""},
    Setting{"ipc.socket_mode", "", kText, "", kDaemon, ""},
    Setting{"jobs.state_dir", "", kText, "", kDaemon, ""},
    Setting{"jobs.durable_default", "", kWord, "power|process|none", kDaemon, ""},
    Setting{"jobs.max_queued", "", kInteger, "", kDaemon, ""},
    Setting{"jobs.retention", "", kDuration, "", kDaemon, ""},
    Setting{"drain.grace", "", kDuration, "", kDaemon, ""},
    Setting{"metrics.listen", "", kText, "", kDaemon, "-"},
    Setting{"metrics.textfile", "", kText, "", kDaemon, "-"},
    Setting{"log.level", "", kText, "", kDaemon, ""},
    Setting{"log.format", "", kWord, "text|json", kDaemon, ""},
    Setting{"log.file", "", kText, "", kDaemon, "-"},
    Setting{"log.stats_interval", "LOGGING_INTERVAL_STEP", kInteger, "", "the statistics log", "0"},
    Setting{"hooks.kv_provider", "", kText, "", "external components", "-"},
    Setting{"hooks.disaggregation", "", kText, "", "external components", "-"},
    Setting{"hooks.balancer", "", kText, "", "external components", "-"},
    // The variable is a yes or no; the key, above, says host or device.
    Setting{"model.engram_storage", "ENGRAM_FORCE_GPU_STORAGE", kBoolean, "", kDevice, "0"},
};

constexpr auto kAll = [] {
  std::array<Setting, kApplied.size() + kLater.size()> all{};
  std::size_t next = 0;
  for (const Setting& setting : kApplied) all[next++] = setting;
  for (const Setting& setting : kLater) all[next++] = setting;
  return all;
}();

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

// Whether `list`, separated by |, has `word`.
bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t bar = std::min(list.find('|'), list.size());
    if (list.substr(0, bar) == word) return true;
    list.remove_prefix(std::min(bar + 1, list.size()));
  }
  return false;
}

// The value in one spelling, so that "off", "No" and "0" compare equal.
Result<std::string> canonical(const Setting& setting, std::string_view value) {
  switch (setting.kind) {
    case kBoolean: {
      DEEPINFER_TRY(const bool flag, parse_boolean(value));
      return std::string(flag != setting.inverted ? "1" : "0");
    }
    case kInteger: {
      DEEPINFER_TRY(const std::int64_t number, parse_integer(value));
      return std::to_string(number);
    }
    case kNumber: {
      DEEPINFER_TRY([[maybe_unused]] const double number, parse_number(value));
      return std::string(value);
    }
    case kSize: {
      DEEPINFER_TRY(const std::int64_t bytes, parse_size(value));
      return std::to_string(bytes);
    }
    case kDuration: {
      if (parse_number(value)) return std::string(value);
      DEEPINFER_TRY(const auto time, parse_duration(value));
      return std::to_string(time.count());
    }
    case kWord:
      if (has_word(setting.words, value)) return std::string(value);
      return fail(ErrorCode::kInvalidArgument, "expected one of " + std::string(setting.words) +
                                                   ", got \"" + std::string(value) + "\"");
    case kText:
      break;
  }
  return std::string(value);
}

struct Range {
  std::string_view key;
  std::int64_t least;
  std::int64_t most;
};
constexpr std::int64_t kMostTokens = 1'000'000'000;
constexpr std::array kRanges{
    Range{"model.max_context", 0, kMostTokens},    Range{"engine.threads", 0, 1024},
    Range{"engine.max_sequences", 1, 65536},       Range{"engine.max_batch_tokens", 1, kMostTokens},
    Range{"engine.prefill_chunk", 1, kMostTokens},
};

Result<std::int64_t> ranged(std::string_view key, std::string_view text) {
  DEEPINFER_TRY(const std::int64_t value, parse_integer(text));
  for (const Range& range : kRanges) {
    if (range.key != key || (value >= range.least && value <= range.most)) continue;
    return fail(ErrorCode::kInvalidArgument, "expected " + std::to_string(range.least) + " to " +
                                                 std::to_string(range.most) + ", got " +
                                                 std::to_string(value));
  }
  return value;
}

Status apply_integer(std::string_view key, std::string_view text, Options& options) {
  DEEPINFER_TRY(const std::int64_t value, ranged(key, text));
  if (key == "model.max_context") options.model.max_context = value;
  if (key == "engine.threads") options.engine.threads = value;
  if (key == "engine.max_sequences") options.engine.max_sequences = value;
  if (key == "engine.max_batch_tokens") options.engine.max_batch_tokens = value;
  if (key == "engine.prefill_chunk") options.engine.prefill_chunk = value;
  return Done{};
}

}  // namespace

std::span<const Setting> known_settings() { return kAll; }

std::span<const std::string_view> ignored_variables() { return kIgnored; }

std::string variable_of_key(std::string_view key) {
  std::string name = "DEEPINFER_";
  for (const char letter : key) {
    if (letter == '.') {
      name += "__";
      continue;
    }
    const bool is_lower = letter >= 'a' && letter <= 'z';
    name += is_lower ? static_cast<char>(letter - 'a' + 'A') : letter;
  }
  return name;
}

Status apply_setting(const Setting& setting, std::string_view value, Options& options) {
  DEEPINFER_TRY(const std::string text, canonical(setting, value));
  if (!setting.part.empty()) {
    if (has_word(setting.neutral, text.empty() ? "-" : text)) return Done{};
    return fail(ErrorCode::kFailedPrecondition,
                std::string(setting.part) + " is not built into this version");
  }
  if (setting.kind == kInteger) return apply_integer(setting.key, text, options);
  if (setting.key == "model.path") options.model.path = text;
  if (setting.key == "sampling.logprobs_mode") {
    options.sampling.logprobs_mode = text == "raw" ? LogprobsMode::kRaw : LogprobsMode::kProcessed;
  }
  return Done{};
}

}  // namespace deepinfer::config

# The messages between a client and the daemon. ipc/codec.h turns them into plain values and back.
#
# Rules: fields are only ever appended, and an appended field means with its zero what its absence meant.
# Texts are Data, because they may hold any byte. Many numbers are one Data of little-endian numbers of
# fixed width, because a list of numbers is built one by one. A null pointer is an unset optional or an
# empty array.
@0x94c81f6d80f315e5;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("deepinfer::ipc::protocol");

# ---- the first datagrams of a connection ----

enum ConnectionKind {
  control @0;
  session @1;
}

# The first datagram of a client. Of every major version: fields 0 to 2 stay where they are.
struct Hello {
  magic @0 :UInt32;
  abiMajor @1 :UInt16;
  abiMinor @2 :UInt16;
  layout @3 :UInt64;
  features @4 :UInt64;
  kind @5 :ConnectionKind;
  clientName @6 :Data;
  clientVersion @7 :Data;
  wanted @8 :Geometry;
}

# The sizes of a session's shared memory; ipc/layout.h has the ranges.
struct Geometry {
  submissionEntries @0 :UInt32;
  completionEntries @1 :UInt32;
  arenaBytes @2 :UInt64;
  resultBytes @3 :UInt64;
}

# The answer to Hello.
struct HelloReply {
  union {
    welcome @0 :Welcome;
    refusal @1 :Refusal;
  }
}

# The client is in; a session's descriptors come with this datagram.
struct Welcome {
  abiMajor @0 :UInt16;
  abiMinor @1 :UInt16;
  features @2 :UInt64;
  session @3 :UInt64;
  epoch @4 :UInt64;
  granted @5 :Geometry;
  maxUnfinished @6 :UInt64;
  version @7 :Data;
  model @8 :ModelFacts;
}

# Why something was refused.
struct Refusal {
  code @0 :Data;
  what @1 :Data;
  mend @2 :Data;
  retryAfterMs @3 :UInt64;
}

# What a client must know of the loaded model.
struct ModelFacts {
  name @0 :Data;
  vocabulary @1 :Int64;
  maxContext @2 :Int64;
  bosToken @3 :Int64;
  eosToken @4 :Int64;
}

# ---- questions and answers of the control plane ----

# 128 bits that name a job.
struct JobId {
  high @0 :UInt64;
  low @1 :UInt64;
}

# A question; `number` comes back in the reply.
struct ControlRequest {
  number @0 :UInt64;
  question :union {
    status @1 :Void;
    jobs @2 :JobsQuery;
    job @3 :JobId;
    openJob @4 :JobOptions;
    closeJob @5 :JobId;
    cancelJob @6 :JobId;
    drain @7 :Void;
    undrain @8 :Void;
  }
}

# Which page of the jobs: the one that follows a job; null: the first.
struct JobsQuery {
  before @0 :JobId;
}

# The answer to ControlRequest.
struct ControlReply {
  number @0 :UInt64;
  reply :union {
    refusal @1 :Refusal;
    nothing @2 :Void;
    status @3 :DaemonStatus;
    jobs @4 :JobsPage;
    job @5 :JobInfo;
    opened @6 :JobId;
  }
}

enum OnDisconnect {
  cancel @0;
  continue @1;
}

# What a client says of a job that it opens.
struct JobOptions {
  name @0 :Data;
  metadata @1 :List(Entry);
  hasSeed @2 :Bool;
  seed @3 :UInt64;
  onDisconnect @4 :OnDisconnect;
}

# One entry of a job's metadata; keys rise.
struct Entry {
  key @0 :Data;
  value @1 :Data;
}

enum JobState {
  running @0;
  completed @1;
  cancelled @2;
  lost @3;
}

# A job as operators see it. Times are nanoseconds since 1970.
struct JobInfo {
  id @0 :JobId;
  name @1 :Data;
  uid @2 :UInt32;
  state @3 :JobState;
  counts @4 :JobCounts;
  metadata @5 :List(Entry);
  created @6 :Int64;
  hasEnded @7 :Bool;
  ended @8 :Int64;
}

# How many requests of a job are where.
struct JobCounts {
  total @0 :Int64;
  completed @1 :Int64;
  failed @2 :Int64;
  cancelled @3 :Int64;
  queued @4 :Int64;
  running @5 :Int64;
}

# A page of the list of jobs, newest first.
struct JobsPage {
  jobs @0 :List(JobInfo);
  hasMore @1 :Bool;
}

enum DaemonState {
  loading @0;
  ready @1;
  draining @2;
  drained @3;
  stopping @4;
}

# How the daemon is.
struct DaemonStatus {
  state @0 :DaemonState;
  version @1 :Data;
  pid @2 :Int64;
  uptimeMs @3 :Int64;
  model @4 :ModelFacts;
  backend @5 :Data;
  sessions @6 :Int64;
  jobsRunning @7 :Int64;
  requestsQueued @8 :Int64;
  requestsRunning @9 :Int64;
  requestsFinished @10 :Int64;
  requestsRefused @11 :Int64;
  engine @12 :EngineStats;
}

# The engine's counters. Times are nanoseconds.
struct EngineStats {
  steps @0 :Int64;
  prefillTokens @1 :Int64;
  decodeTokens @2 :Int64;
  running @3 :Int64;
  waiting @4 :Int64;
  preemptions @5 :Int64;
  cacheBlocksFree @6 :Int64;
  cacheBlocks @7 :Int64;
  prefillTime @8 :Int64;
  decodeTime @9 :Int64;
}

# ---- descriptors of submissions, in shared memory ----

# A piece of the request arena.
struct Span {
  offset @0 :UInt64;
  bytes @1 :UInt64;
}

# One request. The prompt's bytes lie in the arena.
struct Submit {
  hasJob @0 :Bool;
  jobHigh @1 :UInt64;
  jobLow @2 :UInt64;
  stream @3 :Bool;
  customId @4 :Data;
  priority @5 :Int64;
  hasDeadline @6 :Bool;
  deadline @7 :Int64;  # nanoseconds of the steady clock, which the processes of a node share
  hasJobSeed @8 :Bool;
  jobSeed @9 :UInt64;
  sampling @10 :Sampling;
  prompt :union {
    text @11 :Span;
    tokens @12 :Span;
    chat @13 :Chat;
  }
}

# A chat as a prompt.
struct Chat {
  messages @0 :Span;
  tools @1 :Span;
  responseFormat @2 :Span;
  thinking @3 :Bool;
  reasoningEffort @4 :Int64;
}

enum LogprobsMode {
  raw @0;
  processed @1;
}

# How the tokens of an answer are chosen.
struct Sampling {
  hasMaxTokens @0 :Bool;
  maxTokens @1 :Int64;
  minTokens @2 :Int64;
  temperature @3 :Float64;
  topP @4 :Float64;
  topK @5 :Int64;
  minP @6 :Float64;
  presencePenalty @7 :Float64;
  frequencyPenalty @8 :Float64;
  repetitionPenalty @9 :Float64;
  logitBiasIds @10 :Data;     # int32, rising
  logitBiasValues @11 :Data;  # float64, one for each id
  hasSeed @12 :Bool;
  seed @13 :UInt64;
  stop @14 :List(Data);
  stopTokenIds @15 :Data;  # int32
  includeStopStrInOutput @16 :Bool;
  ignoreEos @17 :Bool;
  skipSpecialTokens @18 :Bool;
  n @19 :Int64;
  hasLogprobs @20 :Bool;
  logprobs @21 :Int64;
  hasLogprobsMode @22 :Bool;
  logprobsMode @23 :LogprobsMode;
}

# ---- payloads of completions, in shared memory ----

# Why a request was refused, or a choice ended with an error.
struct RequestError {
  code @0 :Data;
  message @1 :Data;
  param @2 :Data;
}

# Log-probabilities of a number of tokens, column by column.
struct Logprobs {
  tokens @0 :Data;     # int32
  logprobs @1 :Data;   # float32
  textBytes @2 :Data;  # uint32: how much of `texts` belongs to each token
  texts @3 :Data;
}

# The most likely tokens at each of a number of places.
struct TopLogprobs {
  counts @0 :Data;  # uint32: how many of `entries` belong to each place
  entries @1 :Logprobs;
}

# One token of one choice, as it is produced.
struct TokenEvent {
  request @0 :UInt64;
  choice @1 :Int64;
  token @2 :Int32;
  text @3 :Data;
  hasLogprob @4 :Bool;
  logprob @5 :Float32;
  logprobToken @6 :Int32;
  logprobText @7 :Data;
  topLogprobs @8 :Logprobs;
}

# What has become of a request.
struct RequestResult {
  request @0 :UInt64;
  promptTokens @1 :Data;  # int32
  choices @2 :List(Choice);
}

enum FinishReason {
  stop @0;
  toolCalls @1;
  length @2;
  cancelled @3;
  deadline @4;
  error @5;
}

# One answer of a request.
struct Choice {
  reason @0 :FinishReason;
  text @1 :Data;
  tokens @2 :Data;  # int32
  seed @3 :UInt64;
  hasStopString @4 :Bool;
  stopString @5 :Data;
  hasStopToken @6 :Bool;
  stopToken @7 :Int32;
  logprobs @8 :Logprobs;
  topLogprobs @9 :TopLogprobs;
  error @10 :RequestError;
  content @11 :Data;
  hasReasoningContent @12 :Bool;
  reasoningContent @13 :Data;
  toolCalls @14 :List(ToolCall);
  reasoningTokens @15 :Int64;
}

# A call of a tool that a choice asks for.
struct ToolCall {
  name @0 :Data;
  arguments @1 :Data;  # JSON
}

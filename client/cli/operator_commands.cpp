#include "client/cli/operator_commands.h"

#include <functional>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <CLI/CLI.hpp>

#include "client/cli/daemon_error.h"
#include "client/cli/messages.h"
#include "client/cli/operator_text.h"
#include "client/cli/place.h"
#include "client/cli/response_parts.h"

namespace deepinfer::cli {
namespace {

using nlohmann::ordered_json;

// Opens a connection, and hands it on when there is one.
int with_control(const std::string& socket, std::vector<config::Problem> problems,
                 const CommandContext& context, const std::function<int(Control&)>& use) {
  const auto place = daemon_place(socket, std::move(problems), context);
  if (!place) return kExitUsage;
  int exit_code = kExitDone;
  const auto control = open_control(*place, context, exit_code);
  return control ? use(*control) : exit_code;
}

int refused(const ClientError& error, const CommandContext& context) {
  return report(error, Alternative::kNone, context.err);
}

void print_json(const ordered_json& object, const CommandContext& context) {
  context.out << to_text(object) << '\n' << std::flush;
}

int show_job(Control& control, JobId id, bool is_json, const CommandContext& context) {
  const auto answer = control.job(id);
  if (const auto* error = std::get_if<ClientError>(&answer)) return refused(*error, context);
  const auto& job = std::get<JobInfo>(answer);
  if (is_json) {
    print_json(job_json(job), context);
  } else {
    context.out << job_text(job) << std::flush;
  }
  return kExitDone;
}

// For the commands that name a job: its id is looked at before anything else.
int with_job(const OperatorArguments& arguments, const CommandContext& context,
             const std::function<int(Control&, JobId)>& use) {
  const auto id = parse_job_id(arguments.job);
  std::vector<config::Problem> problems;
  if (!id) {
    problems.push_back({"not a job's id: " + printable(arguments.job), "command line",
                        "give one as deepinfer jobs shows it: job_ and 32 hexadecimal digits"});
  }
  return with_control(arguments.socket, std::move(problems), context,
                      [&](Control& control) { return use(control, *id); });
}

}  // namespace

void add_operator(CLI::App& command, OperatorArguments& arguments) {
  add_socket(command, arguments.socket);
  command.add_flag("--json", arguments.is_json, "Print the report as JSON");
}

void add_job_operator(CLI::App& command, OperatorArguments& arguments) {
  command.add_option("ID", arguments.job, "The job, as deepinfer jobs shows it")->required();
  add_operator(command, arguments);
}

int run_status(const OperatorArguments& arguments, const CommandContext& context) {
  return with_control(arguments.socket, {}, context, [&](Control& control) {
    const auto answer = control.status();
    if (const auto* error = std::get_if<ClientError>(&answer)) return refused(*error, context);
    const auto& status = std::get<DaemonStatus>(answer);
    const std::string socket = control.socket().string();
    if (arguments.is_json) {
      print_json(status_json(status, socket), context);
    } else {
      context.out << status_text(status, socket) << std::flush;
    }
    return kExitDone;
  });
}

int run_jobs(const OperatorArguments& arguments, const CommandContext& context) {
  return with_control(arguments.socket, {}, context, [&](Control& control) {
    const auto answer = control.jobs();
    if (const auto* error = std::get_if<ClientError>(&answer)) return refused(*error, context);
    const auto& jobs = std::get<std::vector<JobInfo>>(answer);
    if (!arguments.is_json) {
      context.out << (jobs.empty() ? "no jobs\n" : jobs_text(jobs)) << std::flush;
      return kExitDone;
    }
    ordered_json list = ordered_json::array();
    for (const JobInfo& job : jobs) list.push_back(job_json(job));
    print_json({{"jobs", std::move(list)}}, context);
    return kExitDone;
  });
}

int run_job(const OperatorArguments& arguments, const CommandContext& context) {
  return with_job(arguments, context, [&](Control& control, JobId id) {
    return show_job(control, id, arguments.is_json, context);
  });
}

int run_cancel(const OperatorArguments& arguments, const CommandContext& context) {
  return with_job(arguments, context, [&](Control& control, JobId id) {
    if (const auto error = control.cancel_job(id)) return refused(*error, context);
    return show_job(control, id, arguments.is_json, context);
  });
}

}  // namespace deepinfer::cli

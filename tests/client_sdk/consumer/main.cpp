// Links the installed client library and finds no daemon: prints the error's code.
#include <iostream>

#include <deepinfer/client.h>

namespace {

// A sink of the program's own: its class is made here, and called from the library.
class Sink final : public deepinfer::ClientSink {
 public:
  void on_token(const deepinfer::TokenEvent& /*event*/) override {}
  void on_finished(deepinfer::RequestResult /*result*/) override {}
  void on_refused(deepinfer::RequestHandle /*request*/,
                  const deepinfer::RequestError& /*error*/) override {}
  void on_lost(deepinfer::RequestHandle /*request*/) override {}
};

}  // namespace

int main(int argc, char** argv) {
  deepinfer::ClientOptions options;
  options.socket = argc > 1 ? argv[1] : deepinfer::default_socket();
  deepinfer::ClientError error;
  const auto client = deepinfer::Client::connect(options, error);
  if (!client) {
    std::cout << error.code << "\n";
    return static_cast<int>(error.fault);
  }
  Sink sink;
  return client->submit({}, sink).error ? 1 : 0;
}

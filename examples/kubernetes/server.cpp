// SPDX-License-Identifier: MIT
// The answers over HTTPS: POST /filter, /prioritize and /validate (README.md).
#include "answers.hpp"

#include <httplib.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

namespace {

constexpr std::size_t largest_body = std::size_t{8} << 20;  // a thousand nodes take about 4 MiB
constexpr int seconds_to_read = 5;
constexpr int seconds_idle = 30;

httplib::Server* running = nullptr;

/// One question: JSON in, JSON out. What cannot be understood is the caller's fault, and said so.
void serve(httplib::Server& server, const char* path, nlohmann::json (*answer)(const nlohmann::json&)) {
    server.Post(path, [answer](const httplib::Request& asked, httplib::Response& said) {
        try {
            said.set_content(answer(nlohmann::json::parse(asked.body)).dump(), "application/json");
        } catch (const std::exception& e) {
            said.status = 400;
            said.set_content(
                nlohmann::json{{"Error", e.what()}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
                "application/json");
        }
    });
}

}  // namespace

int main(int count, char** argument) {
    if (count != 5) {
        std::fprintf(stderr, "usage: %s ADDRESS PORT CERTIFICATE KEY\n", argument[0]);
        return 2;
    }
    httplib::SSLServer server{argument[3], argument[4]};
    if (!server.is_valid()) {
        std::fprintf(stderr, "%s and %s are no certificate and key\n", argument[3], argument[4]);
        return 2;
    }
    server.set_payload_max_length(largest_body);
    server.set_read_timeout(seconds_to_read);
    server.set_write_timeout(seconds_to_read);
    server.set_keep_alive_timeout(seconds_idle);
    server.set_keep_alive_max_count(100'000);
    server.set_tcp_nodelay(true);
    serve(server, "/filter", kubernetes::filter);
    serve(server, "/prioritize", kubernetes::prioritize);
    serve(server, "/validate", kubernetes::validate);
    server.Get("/healthz",
               [](const httplib::Request&, httplib::Response& said) { said.set_content("ok", "text/plain"); });

    running = &server;
    std::signal(SIGTERM, [](int) { running->stop(); });
    std::signal(SIGPIPE, SIG_IGN);
    if (!server.listen(argument[1], std::atoi(argument[2]))) {
        std::fprintf(stderr, "cannot listen on %s:%s\n", argument[1], argument[2]);
        return 1;
    }
    return 0;
}

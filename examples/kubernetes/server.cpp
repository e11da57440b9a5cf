// SPDX-License-Identifier: MIT
// The answers over HTTPS: POST /filter, /prioritize and /validate (README.md). One thread reads and writes all
// connections, so that one that waits costs memory alone; others plan.
#include "answers.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using std::chrono::steady_clock;

constexpr std::size_t most_connections = 512;
constexpr std::size_t largest_body = std::size_t{24} << 20;  // a thousand nodes of 20 kB are 20 MB
constexpr std::size_t most_bytes = std::size_t{48} << 20;    // of all questions and answers that are here at one time
constexpr std::size_t short_body = std::size_t{256} << 10;   // longer bodies wait for one another alone
constexpr std::size_t longest_header = std::size_t{16} << 10;
constexpr std::chrono::seconds for_a_request{10};  // from its first byte to the answer's last one
constexpr std::chrono::seconds for_a_handshake{5};
constexpr std::chrono::seconds for_an_idle_connection{30};

class connection;

/// What connections share. Used in the thread that reads and writes, but for the threads that plan.
struct service {
    asio::io_context& io;
    kubernetes::nodes_file* known = nullptr;
    asio::thread_pool planning_short{
        32};  // more than processors, which the system shares: no long plan holds short ones up
    asio::thread_pool planning_long{1};  // large bodies, and questions whose first plans took long
    std::vector<connection*> connections{};
    std::size_t bytes_held = 0;

    /// Closes one connection for a new one: the one that has been idle longest, else the one whose question has been
    /// arriving longest. Returns whether there is room now.
    bool make_room();
    /// Closes connections whose questions are still arriving, or whose answers leave slowly, the largest first, until
    /// what is held is within its limit or only `but` is left.
    void free_bytes(const connection* but);
};

class connection : public std::enable_shared_from_this<connection> {
public:
    enum class phase { idle, arriving, answering, leaving, closed };

    connection(tcp::socket socket, asio::ssl::context& tls, service& shared)
        : stream_{std::move(socket), tls}, shared_{shared} {
        shared_.connections.push_back(this);
    }
    ~connection() {
        hold(0);
        auto& all = shared_.connections;
        all.erase(std::remove(all.begin(), all.end(), this), all.end());
    }
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;

    void start() {
        lowest().expires_after(for_a_handshake);
        stream_.async_handshake(asio::ssl::stream_base::server, [self = shared_from_this()](error_code failed) {
            if (!failed) self->wait();
        });
    }
    phase now() const { return phase_; }
    steady_clock::time_point since() const { return since_; }
    std::size_t held() const { return held_; }
    void close() {
        enter(phase::closed);
        hold(0);
        lowest().close();  // what is under way ends with an error, and with it the connection
    }

private:
    beast::tcp_stream& lowest() { return beast::get_lowest_layer(stream_); }
    void enter(phase p) {
        phase_ = p;
        since_ = steady_clock::now();
    }
    void hold(std::size_t bytes) {
        shared_.bytes_held = shared_.bytes_held - held_ + bytes;
        held_ = bytes;
        if (bytes > 0 && shared_.bytes_held > most_bytes) shared_.free_bytes(this);
    }

    void wait() {
        enter(phase::idle);
        parser_.reset();
        said_ = {};
        hold(0);
        if (buffer_.size() > 0) return read_header();
        lowest().expires_after(for_an_idle_connection);
        stream_.async_read_some(buffer_.prepare(4096),
                                [self = shared_from_this()](error_code failed, std::size_t read) {
                                    if (failed) return;
                                    self->buffer_.commit(read);
                                    self->read_header();
                                });
    }
    void read_header() {
        enter(phase::arriving);
        lowest().expires_after(for_a_request);
        parser_.emplace();
        parser_->body_limit(largest_body);
        parser_->header_limit(longest_header);
        http::async_read_header(stream_, buffer_, *parser_,
                                [self = shared_from_this()](error_code failed, std::size_t) { self->took(failed); });
    }
    void took(error_code failed) {
        if (phase_ == phase::closed) return;
        if (failed == http::error::body_limit) return refuse(http::status::payload_too_large, "more than 24 MiB", true);
        if (failed == http::error::header_limit || failed == http::error::buffer_overflow)
            return refuse(http::status::request_header_fields_too_large, "a header of more than 16 KiB", true);
        if (failed) {
            if (failed.category() == error_code{http::error::bad_method}.category() &&
                failed != http::error::end_of_stream && failed != http::error::partial_message)
                refuse(http::status::bad_request, "no HTTP", true);
            return;
        }
        hold(parser_->get().body().size());
        if (phase_ == phase::closed) return;
        if (parser_->is_done()) return answer();
        if (shared_.bytes_held > most_bytes)
            return refuse(http::status::service_unavailable, "too many questions at one time", true);
        http::async_read_some(stream_, buffer_, *parser_,
                              [self = shared_from_this()](error_code f, std::size_t) { self->took(f); });
    }

    void answer() {
        enter(phase::answering);
        auto& asked = parser_->get();
        const std::string_view path{asked.target().data(), asked.target().size()};
        if (path == "/healthz") return say(http::status::ok, "text/plain", "ok");
        const std::optional<kubernetes::verb> verb = path == "/filter" ? std::optional{kubernetes::verb::filter}
                                                     : path == "/prioritize"
                                                         ? std::optional{kubernetes::verb::prioritize}
                                                     : path == "/validate" ? std::optional{kubernetes::verb::validate}
                                                                           : std::nullopt;
        if (!verb) return refuse(http::status::not_found, "expected /filter, /prioritize, /validate or /healthz");
        if (asked.method() != http::verb::post) return refuse(http::status::method_not_allowed, "expected POST");
        auto& pool = asked.body().size() > short_body ? shared_.planning_long : shared_.planning_short;
        work_on(std::make_shared<kubernetes::question>(*verb, std::move(asked.body()), shared_.known), pool);
    }
    /// Does one step of a question, and lets others' steps go before the next one.
    void work_on(std::shared_ptr<kubernetes::question> question, asio::thread_pool& pool) {
        asio::post(pool, [self = shared_from_this(), question = std::move(question), &pool]() mutable {
            if (!question->step()) {
                asio::thread_pool& next = question->takes_long() ? self->shared_.planning_long : pool;
                return self->work_on(std::move(question), next);
            }
            connection* const on = self.get();
            asio::post(on->shared_.io, [self = std::move(self), question = std::move(question)] {
                self->say(static_cast<http::status>(question->status), "application/json", std::move(question->answer));
            });
        });
    }

    void refuse(http::status status, const char* why, bool at_last = false) {
        say(status, "application/json", std::string{R"({"Error":")"} + why + R"("})", at_last);
    }
    void say(http::status status, const char* type, std::string body, bool at_last = false) {
        enter(phase::leaving);
        said_.result(status);
        said_.version(11);
        said_.keep_alive(!at_last && parser_ && parser_->get().keep_alive());
        said_.set(http::field::content_type, type);
        said_.body() = std::move(body);
        said_.prepare_payload();
        if (parser_) parser_->get().body() = std::string{};
        hold(said_.body().size());
        http::async_write(stream_, said_, [self = shared_from_this()](error_code failed, std::size_t) {
            if (failed) return;
            if (self->said_.keep_alive()) return self->wait();
            self->hold(0);
            self->lowest().expires_after(std::chrono::seconds{1});
            self->stream_.async_shutdown([self](error_code) {});
        });
    }

    beast::ssl_stream<beast::tcp_stream> stream_;
    service& shared_;
    beast::flat_buffer buffer_{2 * longest_header};
    std::optional<http::request_parser<http::string_body>> parser_{};
    http::response<http::string_body> said_{};
    phase phase_ = phase::idle;
    steady_clock::time_point since_ = steady_clock::now();
    std::size_t held_ = 0;
};

bool service::make_room() {
    if (connections.size() < most_connections) return true;
    for (const auto may_go : {connection::phase::idle, connection::phase::arriving}) {
        connection* oldest = nullptr;
        for (connection* c : connections)
            if (c->now() == may_go && (oldest == nullptr || c->since() < oldest->since())) oldest = c;
        if (oldest != nullptr) {
            oldest->close();
            return true;
        }
    }
    return false;
}

void service::free_bytes(const connection* but) {
    while (bytes_held > most_bytes) {
        connection* largest = nullptr;
        for (connection* c : connections)
            if (c != but && c->held() > short_body &&
                (c->now() == connection::phase::arriving || c->now() == connection::phase::leaving) &&
                (largest == nullptr || c->held() > largest->held()))
                largest = c;
        if (largest == nullptr) return;
        largest->close();
    }
}

/// Takes connections, for ever.
class listener {
public:
    listener(tcp::endpoint at, asio::ssl::context& tls, service& shared)
        : acceptor_{shared.io, at}, tls_{tls}, shared_{shared} {}

    void next() {
        acceptor_.async_accept([this](error_code failed, tcp::socket socket) {
            if (failed) {  // too many open files, for instance: later there may be fewer
                shared_.make_room();
                later_.expires_after(std::chrono::milliseconds{50});
                return later_.async_wait([this](error_code) { next(); });
            }
            if (shared_.make_room()) {
                socket.set_option(tcp::no_delay{true}, failed);
                std::make_shared<connection>(std::move(socket), tls_, shared_)->start();
            }
            next();
        });
    }

private:
    tcp::acceptor acceptor_;
    asio::ssl::context& tls_;
    service& shared_;
    asio::steady_timer later_{shared_.io};
};

asio::ssl::context tls_with(const char* certificate, const char* key) {
    asio::ssl::context tls{asio::ssl::context::tls_server};
    tls.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                    asio::ssl::context::no_tlsv1_1);
    tls.use_certificate_chain_file(certificate);
    tls.use_private_key_file(key, asio::ssl::context::pem);
    // Connections that wait need no buffers, and clients that come again no memory of theirs.
    SSL_CTX_set_mode(tls.native_handle(), SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(tls.native_handle(), SSL_SESS_CACHE_OFF);
    return tls;
}

[[noreturn]] void serve(tcp::endpoint at, asio::ssl::context& tls, kubernetes::nodes_file* known) {
    asio::io_context io{1};
    service shared{.io = io, .known = known};
    listener listening{at, tls, shared};
    listening.next();
    asio::signal_set ending{io, SIGTERM, SIGINT};
    ending.async_wait([&](error_code, int) { io.stop(); });
    io.run();
    std::_Exit(0);  // connections and questions end with the process
}

}  // namespace

int main(int count, char** argument) {
    if (count != 5 && count != 6) {
        std::fprintf(stderr, "usage: %s ADDRESS PORT CERTIFICATE KEY [NODES]\n", argument[0]);
        return 2;
    }
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 128 << 10);  // bodies go back to the system as soon as they are answered
#endif
    std::signal(SIGPIPE, SIG_IGN);
    const std::string_view port_text{argument[2]};
    std::uint16_t port = 0;
    if (std::from_chars(port_text.data(), port_text.data() + port_text.size(), port).ec != std::errc{}) {
        std::fprintf(stderr, "%s is no port\n", argument[2]);
        return 2;
    }
    try {
        asio::ssl::context tls = tls_with(argument[3], argument[4]);
        std::optional<kubernetes::nodes_file> known;
        if (count == 6) known.emplace(argument[5]);
        serve({asio::ip::make_address(argument[1]), port}, tls, known ? &*known : nullptr);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "cannot serve %s:%s with %s and %s: %s\n", argument[1], argument[2], argument[3],
                     argument[4], e.what());
        return 1;
    }
}

// edge: see http.h.
#include "provision/http.h"

#include <curl/curl.h>

#include <array>

#include "base/defence.h"
#include "base/handle.h"
#include "base/text.h"

namespace agentbox::provision {
namespace {

using Easy = CHandle<CURL, curl_easy_cleanup>;
using List = CHandle<curl_slist, curl_slist_free_all>;

/// TCP and TLS together; a server that is there answers in a fraction of it.
constexpr long kConnectMs = 15'000;
/// A watch is silent for minutes: the kernel asks whether the other side is still there (s).
constexpr long kAliveSeconds = 30;
/// All headers of one answer.
constexpr std::size_t kMaxHeaderBytes = 256U << 10U;

// Sets options and remembers whether all were taken: one that is not must not pass unseen.
class Options {
 public:
  explicit Options(CURL* easy) : easy_(easy) {}

  template <typename Value>
  void set(CURLoption option, Value value) {
    if (const CURLcode code = curl_easy_setopt(easy_, option, value);
        code != CURLE_OK && first_ == CURLE_OK) {
      first_ = code;
    }
  }
  void text(CURLoption option, const std::string& value) { set(option, value.c_str()); }
  void blob(CURLoption option, const std::string& bytes) {
    curl_blob blob{};
    blob.data = const_cast<char*>(
        bytes.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast): libcurl copies it
    blob.len = bytes.size();
    blob.flags = CURL_BLOB_COPY;
    set(option, &blob);
  }
  [[nodiscard]] Status done() const {
    return first_ == CURLE_OK ? Status()
                              : Status(Error{Code::kSystem, std::string("libcurl: ") +
                                                                curl_easy_strerror(first_)});
  }

 private:
  CURL* easy_;
  CURLcode first_ = CURLE_OK;
};

// What the callbacks fill in while a request runs.
struct Transfer {
  HttpResponse response;
  const HttpClient::Sink* sink = nullptr;  ///< null: the body is kept
  std::size_t max_bytes = 0;
  std::size_t header_bytes = 0;
  bool stopped = false;  ///< by the sink
  bool too_long = false;
};

std::size_t take_header(char* data, std::size_t size, std::size_t count, void* raw) {
  auto& transfer = *static_cast<Transfer*>(raw);
  const std::size_t bytes = size * count;
  transfer.header_bytes += bytes;
  if (transfer.header_bytes > kMaxHeaderBytes) {
    transfer.too_long = true;
    return 0;
  }
  std::string_view line(data, bytes);
  if (line.starts_with("HTTP/")) {
    transfer.response.headers.clear();  // an interim answer's go with it
    return bytes;
  }
  const auto colon = line.find(':');
  if (colon != std::string_view::npos) {
    std::string name(line.substr(0, colon));
    for (char& c : name) {
      c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    }
    line.remove_prefix(colon + 1);
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) {
      line.remove_prefix(1);
    }
    while (!line.empty() && static_cast<unsigned char>(line.back()) <= ' ') {
      line.remove_suffix(1);
    }
    transfer.response.headers.push_back({std::move(name), std::string(line)});
  }
  return bytes;
}

struct BodyTarget {
  Transfer* transfer;
  CURL* easy;
};

std::size_t take_body(char* data, std::size_t size, std::size_t count, void* raw) {
  auto& target = *static_cast<BodyTarget*>(raw);
  Transfer& transfer = *target.transfer;
  const std::string_view bytes(data, size * count);
  long status = 0;
  curl_easy_getinfo(target.easy, CURLINFO_RESPONSE_CODE, &status);
  if (transfer.sink != nullptr && status >= 200 && status < 300) {
    transfer.stopped = !(*transfer.sink)(bytes);
    return transfer.stopped ? 0 : bytes.size();
  }
  if (transfer.response.body.size() + bytes.size() > transfer.max_bytes) {
    transfer.too_long = true;
    return 0;
  }
  transfer.response.body.append(bytes);
  return bytes.size();
}

Error error_of(CURLcode code, const char* detail, const std::string& authority) {
  const std::string words = escape_text(*detail == '\0' ? curl_easy_strerror(code) : detail, 300);
  const std::string where = "https://" + authority + ": ";
  switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
      return {Code::kDenied,
              where + "the server could not prove who it is, nothing was sent: " + words};
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
      return {Code::kInvalid, where + "a certificate or key cannot be used: " + words};
    case CURLE_OPERATION_TIMEDOUT:
      return {Code::kTimeout, where + words};
    default:
      return {Code::kUnavailable, where + words};
  }
}

Status set_up_tls(Options& options, const HttpServer& server) {
  options.set(CURLOPT_SSL_VERIFYPEER, defended("tls") ? 1L : 0L);
  options.set(CURLOPT_SSL_VERIFYHOST, 2L);
  options.set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (!server.ca.empty()) {
    options.blob(CURLOPT_CAINFO_BLOB, server.ca);
    options.set(CURLOPT_CAPATH, static_cast<char*>(nullptr));  // this CA, and no other
  }
  if (!server.certificate.empty()) {
    options.set(CURLOPT_SSLCERTTYPE, "PEM");
    options.blob(CURLOPT_SSLCERT_BLOB, server.certificate);
    options.set(CURLOPT_SSLKEYTYPE, "PEM");
    options.blob(CURLOPT_SSLKEY_BLOB, server.key);
  }
  return options.done();
}

void set_up_route(Options& options, const HttpServer& server) {
  options.set(CURLOPT_PROTOCOLS_STR, "https");
  options.set(CURLOPT_FOLLOWLOCATION, 0L);
  options.set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  options.text(CURLOPT_PROXY, server.proxy_url);  // empty: none, whatever the environment says
  if (!server.heed_no_proxy) {
    options.set(CURLOPT_NOPROXY, "");
  }
  options.set(CURLOPT_HEADEROPT,
              static_cast<long>(CURLHEADER_SEPARATE));  // a proxy gets none of ours
  options.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  options.set(CURLOPT_CONNECTTIMEOUT_MS, kConnectMs);
  options.set(CURLOPT_NOSIGNAL, 1L);
  options.set(CURLOPT_TCP_KEEPALIVE, 1L);
  options.set(CURLOPT_TCP_KEEPIDLE, kAliveSeconds);
  options.set(CURLOPT_TCP_KEEPINTVL, kAliveSeconds);
}

// Headers as libcurl's list. An empty value would take the header away instead.
Result<List> header_list(const std::vector<Header>& headers) {
  List list;
  for (const Header& header : headers) {
    curl_slist* longer = curl_slist_append(list.get(), (header.name + ": " + header.value).c_str());
    if (longer == nullptr) {
      return Error{Code::kSystem, "no memory"};
    }
    static_cast<void>(list.release());
    list.reset(longer);
  }
  return list;
}

}  // namespace

struct HttpClient::State {
  HttpServer server;
  Easy easy;
  List detour;
  std::array<char, CURL_ERROR_SIZE> error{};

  Status prepare(const HttpRequest& request, const curl_slist* headers, Deadline deadline) {
    curl_easy_reset(easy.get());  // connections live on
    error.front() = '\0';
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      return Error{Code::kTimeout, "https://" + server.authority + ": no time left"};
    }
    Options options(easy.get());
    options.set(CURLOPT_ERRORBUFFER, error.data());
    const std::string name = server.tls_server_name;
    const std::string base =
        name.empty() ? server.authority : name + ":" + std::to_string(server.port);
    options.text(CURLOPT_URL, "https://" + base + server.prefix + request.target);
    options.set(CURLOPT_PATH_AS_IS, 1L);
    AB_CHECK(set_up_tls(options, server));
    set_up_route(options, server);
    options.text(CURLOPT_CUSTOMREQUEST, request.method);
    if (!request.body.empty()) {
      options.set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
      options.set(CURLOPT_POSTFIELDS, request.body.data());
    }
    options.set(CURLOPT_HTTPHEADER, headers);
    if (!server.tls_server_name.empty()) {
      detour.reset(curl_slist_append(nullptr, ("::" + server.authority).c_str()));
      options.set(CURLOPT_CONNECT_TO, detour.get());
    }
    options.set(CURLOPT_TIMEOUT_MS, static_cast<long>(left.count()));
    return options.done();
  }

  Result<HttpResponse> perform(const HttpRequest& request, const Sink* sink, Deadline deadline) {
    std::vector<Header> all = request.headers;
    all.push_back({"Expect", ""});  // libcurl: leave it out, and do not wait for a 100
    if (!server.tls_server_name.empty()) {
      all.push_back({"Host", server.authority});
    }
    AB_TRY(headers, header_list(all));
    AB_CHECK(prepare(request, headers.get(), deadline));
    Transfer transfer;
    transfer.sink = sink;
    transfer.max_bytes = request.max_bytes;
    BodyTarget target{&transfer, easy.get()};
    Options options(easy.get());
    options.set(CURLOPT_HEADERFUNCTION, take_header);
    options.set(CURLOPT_HEADERDATA, &transfer);
    options.set(CURLOPT_WRITEFUNCTION, take_body);
    options.set(CURLOPT_WRITEDATA, &target);
    AB_CHECK(options.done());
    const CURLcode code = curl_easy_perform(easy.get());
    if (transfer.too_long) {
      return Error{Code::kLimit, "https://" + server.authority + ": the answer is longer than " +
                                     std::to_string(request.max_bytes) + " bytes"};
    }
    if (code != CURLE_OK && !transfer.stopped) {
      return error_of(code, error.data(), server.authority);
    }
    long status = 0;
    curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
    transfer.response.status = static_cast<int>(status);
    return std::move(transfer.response);
  }
};

HttpClient::HttpClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() = default;

Result<HttpClient> HttpClient::make(HttpServer server) {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  auto state = std::make_unique<State>();
  state->server = std::move(server);
  state->easy.reset(curl_easy_init());
  if (started != CURLE_OK || !state->easy) {
    return Error{Code::kSystem, "libcurl cannot be started"};
  }
  return HttpClient(std::move(state));
}

Result<HttpResponse> HttpClient::send(const HttpRequest& request, Deadline deadline) {
  return state_->perform(request, nullptr, deadline);
}

Result<HttpResponse> HttpClient::stream(const HttpRequest& request, const Sink& sink,
                                        Deadline deadline) {
  return state_->perform(request, &sink, deadline);
}

struct RawConnection::State : HttpClient::State {
  curl_socket_t socket = CURL_SOCKET_BAD;
};

RawConnection::RawConnection(std::unique_ptr<State> state) : state_(std::move(state)) {}
RawConnection::RawConnection(RawConnection&&) noexcept = default;
RawConnection& RawConnection::operator=(RawConnection&&) noexcept = default;
RawConnection::~RawConnection() = default;

Result<RawConnection> HttpClient::connect_raw(Deadline deadline) const {
  auto state = std::make_unique<RawConnection::State>();
  state->server = state_->server;
  state->easy.reset(curl_easy_init());
  if (!state->easy) {
    return Error{Code::kSystem, "libcurl cannot be started"};
  }
  AB_CHECK(state->prepare({}, nullptr, deadline));
  Options options(state->easy.get());
  options.set(CURLOPT_CONNECT_ONLY, 1L);
  // Whoever speaks here by hand speaks HTTP/1.1, and TLS shall say so.
  options.set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  AB_CHECK(options.done());
  const CURLcode code = curl_easy_perform(state->easy.get());
  if (code != CURLE_OK) {
    return error_of(code, state->error.data(), state->server.authority);
  }
  curl_easy_getinfo(state->easy.get(), CURLINFO_ACTIVESOCKET, &state->socket);
  return RawConnection(std::move(state));
}

int RawConnection::fd() const { return state_->socket; }

Result<std::string> RawConnection::receive() {
  std::array<char, 16384> chunk{};
  std::size_t got = 0;
  const CURLcode code = curl_easy_recv(state_->easy.get(), chunk.data(), chunk.size(), &got);
  if (code == CURLE_AGAIN) {
    return std::string();
  }
  if (code != CURLE_OK || got == 0) {
    return Error{Code::kUnavailable, "https://" + state_->server.authority + " has ended"};
  }
  return std::string(chunk.data(), got);
}

Result<std::size_t> RawConnection::send(std::string_view bytes) {
  std::size_t sent = 0;
  const CURLcode code = curl_easy_send(state_->easy.get(), bytes.data(), bytes.size(), &sent);
  if (code != CURLE_OK && code != CURLE_AGAIN) {
    return error_of(code, state_->error.data(), state_->server.authority);
  }
  return sent;
}

LibraryVersion http_library() {
  return {"libcurl", LIBCURL_VERSION, ::curl_version_info(CURLVERSION_NOW)->version};
}

}  // namespace agentbox::provision

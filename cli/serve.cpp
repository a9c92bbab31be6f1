// `sluice serve`: catalogue, predictions, advice and runs as a page for this computer's browser.
#include <httplib.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <regex>

#include "cli/serving/answers.hpp"
#include "cli/serving/page_text.hpp"
#include "cli/serving/request_guard.hpp"
#include "cli/serving/served_runs.hpp"
#include "cli/words/parse.hpp"
#include "sim/error.hpp"
#include "sim/json_tree.hpp"
#if SLUICE_HAS_train
#include "engine/backends/numerics_id.hpp"
#endif

namespace sluice::cli {
namespace {

struct ServeOptions {
  std::string address = "127.0.0.1";
  int port = 8421;
  std::string runs = "runs";
  std::optional<std::filesystem::path> prices;
  std::vector<std::string> names;
  int buy_seconds = 20;
};

void reply_error(httplib::Response& response, int status, const std::string& message) {
  response.status = status;
  response.set_content(sim::Json{{"error", message}}.dump() + "\n", "application/json");
}

/// Puts the JSON text that `answer` gives into the response, or the error that it throws.
template <class Answer>
void reply(httplib::Response& response, const Answer& answer) {
  try {
    response.set_content(answer(), "application/json");
  } catch (const Error& error) {
    reply_error(response, error.code() == ExitCode::bad_request ? 400 : 500, error.what());
  } catch (const std::exception& error) {
    reply_error(response, 500, error.what());
  }
}

Query query_of(const httplib::Request& request) {
  Query query;
  for (const auto& [key, value] : request.params) query[key] = value;
  return query;
}

std::int64_t step_after(const httplib::Request& request) {
  const std::string text = request.get_param_value("after");
  if (text.empty()) return 0;
  if (!std::regex_match(text, std::regex("[0-9]{1,12}"))) {
    throw BadRequest("after: must be the number of a step");
  }
  return std::stoll(text);
}

std::string script() {
  std::string text;
  for (const char* const* part = kServedScripts; *part != nullptr; ++part) text += *part;
  return text;
}

/// Headers under which a browser loads nothing from elsewhere, and no other page reads an answer.
httplib::Headers safe_headers() {
  return {{"Content-Security-Policy",
           "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src "
           "'self'; "
           "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
          {"X-Content-Type-Options", "nosniff"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Referrer-Policy", "no-referrer"},
          {"Cache-Control", "no-store"}};
}

void route(httplib::Server& server, Answers& answers, const ServedRuns& runs,
           const ServeOptions& options) {
  server.Get("/", [](const httplib::Request&, httplib::Response& response) {
    response.set_content(kServedPage, "text/html; charset=utf-8");
  });
  server.Get("/style.css", [](const httplib::Request&, httplib::Response& response) {
    response.set_content(kServedStyle, "text/css; charset=utf-8");
  });
  server.Get("/page.js", [](const httplib::Request&, httplib::Response& response) {
    response.set_content(script(), "text/javascript; charset=utf-8");
  });
  server.Get("/api/catalogue", [&answers](const httplib::Request&, httplib::Response& response) {
    reply(response, [&] { return answers.catalogue(); });
  });
  server.Get("/api/predict",
             [&answers](const httplib::Request& request, httplib::Response& response) {
               reply(response, [&] { return answers.prediction(query_of(request)); });
             });
  server.Get("/api/timeline",
             [&answers](const httplib::Request& request, httplib::Response& response) {
               reply(response, [&] { return answers.timeline(query_of(request)); });
             });
  server.Get("/api/buy", [&answers, &options](const httplib::Request& request,
                                              httplib::Response& response) {
    reply(response, [&] { return answers.advice(query_of(request), options.buy_seconds); });
  });
  server.Get("/api/runs", [&runs](const httplib::Request&, httplib::Response& response) {
    reply(response, [&] { return runs.list(); });
  });
  server.Get("/api/metrics", [&runs](const httplib::Request& request, httplib::Response& response) {
    reply(response, [&] { return runs.rows(request.get_param_value("run"), step_after(request)); });
  });
  server.set_error_handler([](const httplib::Request&, httplib::Response& response) {
    if (response.body.empty()) reply_error(response, response.status, "there is nothing here");
  });
}

void guard(httplib::Server& server, const RequestGuard& requests) {
  server.set_pre_routing_handler(
      [&requests](const httplib::Request& request, httplib::Response& response) {
        const auto refusal =
            requests.refusal({.method = request.method,
                              .host = request.get_header_value("Host"),
                              .fetch_site = request.get_header_value("Sec-Fetch-Site")});
        if (!refusal) return httplib::Server::HandlerResponse::Unhandled;
        reply_error(response, refusal->status, refusal->reason);
        return httplib::Server::HandlerResponse::Handled;
      });
}

/// Binds the server and returns the port that it has. Throws EnvironmentError where that is taken.
int bind(httplib::Server& server, const ServeOptions& options) {
  // The library's default would let two servers share a port.
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  });
  if (options.port == 0) {
    const int port = server.bind_to_any_port(options.address);
    if (port > 0) return port;
    throw EnvironmentError("cannot listen at " + options.address +
                           ": it is no address of this computer");
  }
  if (!server.bind_to_port(options.address, options.port)) {
    throw EnvironmentError(
        "port " + std::to_string(options.port) + " of " + options.address +
        " is taken or not allowed; give another with --port, or 0 for any that is free");
  }
  return options.port;
}

}  // namespace

int run_serve(const Arguments& arguments) {
  CLI::App app(
      "Shows catalogue, predictions, advice and runs as a page in this computer's browser. It "
      "answers this "
      "computer alone, and changes nothing.",
      "serve");
  ServeOptions options;
  app.add_option("--port", options.port, "port to listen at; 0 takes any that is free")
      ->capture_default_str()
      ->check(CLI::Range(0, 65535));
  app.add_option("--runs", options.runs, "folder whose run folders are shown")
      ->capture_default_str();
  app.add_option("--prices", options.prices, "YAML or JSON file of dated prices");
  app.add_option("--buy-seconds", options.buy_seconds,
                 "seconds within which advice is given, about")
      ->capture_default_str()
      ->check(CLI::Range(1, 3600));
  app.add_option("--bind", options.address,
                 "address to listen at; anyone who reaches it sees the page")
      ->capture_default_str();
  app.add_option("--name", options.names, "another host name under which the page is opened");
  parse(app, arguments);
  std::string numerics_id;
#if SLUICE_HAS_train
  numerics_id = engine::host_numerics_id();
#endif
  Answers answers(options.prices, numerics_id);
  const ServedRuns runs(options.runs);
  httplib::Server server;
  server.set_payload_max_length(0);
  server.set_default_headers(safe_headers());
  const int port = bind(server, options);
  const RequestGuard requests(options.address, port, options.names);
  guard(server, requests);
  route(server, answers, runs, options);
  const std::string shown = options.address.find(':') == std::string::npos
                                ? options.address
                                : "[" + options.address + "]";
  std::cout << "http://" << shown << ':' << port << "/  (Ctrl-C ends it)" << std::endl;
  if (!server.listen_after_bind())
    throw EnvironmentError("the server stopped: its socket was closed");
  return 0;
}

}  // namespace sluice::cli

//! Metrics, traces and the doors beside the endpoint, by what those who look at them see.

#[path = "operations/collector.rs"]
mod collector;
#[path = "operations/doors.rs"]
mod doors;
#[path = "operations/metrics.rs"]
mod metrics;
#[path = "operations/settings.rs"]
mod settings;
#[path = "operations/traces.rs"]
mod traces;

use std::sync::Arc;

use contexture::model::{Meta, Method};
use contexture::server::Request;
use contexture::server::layers::around;
use contexture::{Client, Server, testing, tool};
use contexture_host::operations::{Metrics, Outcome};

/// A server that does with every call what a gateway does: it is seen, and an upstream is asked, by this function.
fn watched<F, Fut>(metrics: &Arc<Metrics>, ask: F) -> Server
where
    F: Fn(Meta) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Outcome> + Send + 'static,
{
    let metrics = Arc::clone(metrics);
    let layer = around(move |operation, next| {
        let (metrics, ask) = (Arc::clone(&metrics), ask.clone());
        async move {
            if !matches!(operation.request, Request::CallTool { .. }) {
                return next.call(operation).await;
            }
            let seen = metrics.exchange(&operation.context, &operation.request);
            let mut meta = operation.context.meta();
            let call = seen.upstream("files", Method::ToolsCall, Some("echo"));
            call.carry(&mut meta);
            let outcome = ask(meta).await;
            call.end(outcome);
            let result = next.call(operation).await;
            seen.end(&result);
            result
        }
    });
    Server::new("front", "1").tool(tool("echo").handler(|| async { "done" })).layer(layer)
}

async fn client_of(server: Server) -> Client {
    testing::connect(server).await.expect("a client")
}

/// The value of a line on the page, by everything before it.
fn value(page: &str, line: &str) -> Option<f64> {
    let found = page.lines().find_map(|found| found.strip_prefix(line)?.strip_prefix(' '));
    found.map(|text| text.parse().expect("a number"))
}

//! rmcp's client: `TokioChildProcess`, or Streamable HTTP over reqwest. All calls share one connection.
//!
//! - As taught: `from_uri`, whose reqwest client keeps no idle connection, so that a call over HTTP opens one.
//! - Tuned: one thread; over HTTP a reqwest client that keeps its connections, and as many requests at once as
//!   there are calls in flight (16 by default).

use bench_program::clock::{self, MESSAGE};
use bench_program::command::{Client, Target};
use bench_program::{Outcome, command};
use rmcp::model::{CallToolRequestParams, ClientCapabilities, ClientConfig, Implementation, ProtocolVersion};
use rmcp::service::RunningService;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientLifecycleMode, ClientServiceExt, RoleClient};
use std::sync::Arc;
use tokio::process::Command;

type Running = RunningService<RoleClient, ClientConfig>;

/// Connects, makes the calls, and closes when stdin ends.
pub async fn call(client: &Client) -> Outcome {
    let running = Arc::new(connect(client).await?);
    let caller = Arc::clone(&running);
    clock::run(client, move || echo(Arc::clone(&caller))).await?;
    if let Some(running) = Arc::into_inner(running) {
        running.cancel().await?;
    }
    Ok(())
}

async fn echo(running: Arc<Running>) -> Outcome<String> {
    let arguments = rmcp::object!({ "message": MESSAGE });
    let result = running.call_tool(CallToolRequestParams::new("echo").with_arguments(arguments)).await?;
    match result.content.as_slice() {
        [block] => Ok(block.as_text().ok_or("the server's answer is not a text")?.text.clone()),
        blocks => Err(format!("the server's answer has {} blocks instead of one", blocks.len()).into()),
    }
}

async fn connect(client: &command::Client) -> Outcome<Running> {
    let (version, lifecycle) = if client.modern {
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        (ProtocolVersion::V_2026_07_28, ClientLifecycleMode::Discover { preferred_versions })
    } else {
        (ProtocolVersion::V_2025_06_18, ClientLifecycleMode::Initialize)
    };
    let config = ClientConfig::new(ClientCapabilities::default(), Implementation::new("bench", "1"))
        .with_protocol_version(version);
    Ok(match &client.target {
        Target::Program(program) => {
            let mut command = Command::new(program);
            command.arg("stdio");
            config.serve_with_lifecycle(TokioChildProcess::new(command)?, lifecycle).await?
        }
        Target::Url(url) if client.tuned => {
            let http = StreamableHttpClientTransportConfig::with_uri(url.as_str());
            let http = http.max_concurrent_requests(client.window);
            let transport = StreamableHttpClientTransport::with_client(reqwest::Client::new(), http);
            config.serve_with_lifecycle(transport, lifecycle).await?
        }
        Target::Url(url) => {
            let transport = StreamableHttpClientTransport::from_uri(url.as_str());
            config.serve_with_lifecycle(transport, lifecycle).await?
        }
    })
}

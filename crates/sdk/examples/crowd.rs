//! A server for a crowd, and a look inside it while it serves: sessions, tasks, memory.
//!
//! `tests/http_crowd.rs` runs it. It serves on a port of its own choice until its standard input ends. Its clock
//! can be told to be later, so that nobody has to wait for sessions to expire; that is not for production.

use std::io::{Read, Write};
use std::sync::OnceLock;
use std::time::Duration;

use contexture::server::HttpServer;
use contexture::{Args, Context, Json, Policy, Server, prompt, resource, tool};

/// Room for everybody.
const SESSIONS: usize = 12_000;

/// For the tool that looks inside.
static SERVER: OnceLock<HttpServer> = OnceLock::new();

#[derive(serde::Serialize, schemars::JsonSchema)]
struct State {
    sessions: usize,
    tasks: usize,
    rss_kib: u64,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Later {
    seconds: u64,
}

/// One thread: only there can the clock be set.
#[tokio::main(flavor = "current_thread")]
async fn main() -> contexture::Result<()> {
    raise_limit();
    let mut policy = Policy::default();
    // All of them come from one machine and prove nothing.
    policy.anonymous_sessions = SESSIONS;
    // The connection that looks inside is idle while the others come, on a slow machine for long.
    policy.header_time = Duration::from_secs(60 * 60);
    let server = Server::new("crowd", "1.0.0")
        .tool(tool("state").handler(|| async { Json(state()) }))
        .tool(tool("change").handler(change_tools))
        .tool(tool("change_prompts").handler(change_prompts))
        .tool(tool("touch").handler(|ctx: Context| async move {
            ctx.registry().resource_updated("crowd://news");
            "touched"
        }))
        .tool(tool("later").handler(|Args(later): Args<Later>| async move {
            tokio::time::pause();
            tokio::time::advance(Duration::from_secs(later.seconds)).await;
            tokio::time::resume();
            "later"
        }))
        .prompt(prompt("greeting").handler(|| async { "Say hello." }))
        .resource(resource("crowd://news").name("news").text("nothing new"))
        .policy(policy)
        .into_http()?;
    SERVER.get_or_init(|| server.clone());
    let bound = server.bind("127.0.0.1:0").await?;
    writeln!(std::io::stdout(), "listening on {}", bound.url())?;
    bound.serve_until(input_ended()).await
}

fn state() -> State {
    State {
        sessions: SERVER.get().map_or(0, HttpServer::sessions),
        tasks: tokio::runtime::Handle::current().metrics().num_alive_tasks(),
        rss_kib: rss_kib().unwrap_or(0),
    }
}

/// Memory that is really there; known on Linux only.
fn rss_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}

async fn change_tools(ctx: Context) -> contexture::Result<&'static str> {
    let registry = ctx.registry();
    if !registry.remove_tool("fleeting") {
        registry.add_tool(tool("fleeting").handler(|| async { "still here" }))?;
    }
    Ok("changed")
}

async fn change_prompts(ctx: Context) -> contexture::Result<&'static str> {
    let registry = ctx.registry();
    if !registry.remove_prompt("fleeting") {
        registry.add_prompt(prompt("fleeting").handler(|| async { "Say goodbye." }))?;
    }
    Ok("changed")
}

/// Every stream is a descriptor.
fn raise_limit() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        if let Err(error) = setrlimit(Resource::Nofile, limit) {
            tracing::warn!(%error, "no more descriptors can be had");
        }
    }
}

/// Whoever started this closes its input, or is gone.
async fn input_ended() {
    let (ended, wait) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        let _ = ended.send(());
    });
    let _ = wait.await;
}

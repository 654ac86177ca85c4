//! A server for a crowd, and a look inside it while it serves: sessions, tasks, memory.
//!
//! `tests/http_crowd.rs` runs it. It serves on a port of its own choice until its standard input ends. Its clock
//! can be told to be later, so that nobody has to wait for sessions to expire; that is not for production.
//! What the program holds is counted by its allocator: what the process has is more, because allocators keep
//! what they were given back.

use std::io::{Read, Write};
use std::pin::pin;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use contexture::server::HttpServer;
use contexture::{Args, Context, Json, Policy, Server, prompt, resource, tool};
use tokio::sync::Notify;

/// Room for everybody.
const SESSIONS: usize = 12_000;

/// For the tool that looks inside.
static SERVER: OnceLock<HttpServer> = OnceLock::new();
/// Bytes that the server holds, as of the last look.
static HEAP: AtomicI64 = AtomicI64::new(0);
/// Somebody wants to know.
static ASKED: Notify = Notify::const_new();
/// It is known.
static COUNTED: Notify = Notify::const_new();

#[derive(serde::Serialize, schemars::JsonSchema)]
struct State {
    sessions: usize,
    tasks: usize,
    /// What the server holds.
    heap_kib: i64,
    /// What the process has.
    rss_kib: u64,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Later {
    seconds: u64,
}

/// One thread: only there can the clock be set and everything be counted. Whenever somebody asks, everything
/// stops for a moment.
fn main() -> contexture::Result<()> {
    raise_limit();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut serving = pin!(serve());
    loop {
        let mut ended = None;
        let counted = allocation_counter::measure(|| {
            ended = runtime.block_on(async {
                tokio::select! {
                    ended = &mut serving => Some(ended),
                    () = ASKED.notified() => None,
                }
            });
        });
        if let Some(ended) = ended {
            return ended;
        }
        HEAP.fetch_add(counted.bytes_current, Ordering::Relaxed);
        COUNTED.notify_waiters();
    }
}

async fn serve() -> contexture::Result<()> {
    let mut policy = Policy::default();
    // All of them come from one machine and prove nothing.
    policy.anonymous_sessions = SESSIONS;
    // The connection that looks inside is idle while the others come, on a slow machine for long.
    policy.header_time = Duration::from_secs(60 * 60);
    let server = Server::new("crowd", "1.0.0")
        .tool(tool("state").handler(|| async { Json(state().await) }))
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

async fn state() -> State {
    let counted = COUNTED.notified();
    ASKED.notify_one();
    counted.await;
    State {
        sessions: SERVER.get().map_or(0, HttpServer::sessions),
        tasks: tokio::runtime::Handle::current().metrics().num_alive_tasks(),
        heap_kib: HEAP.load(Ordering::Relaxed) / 1024,
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

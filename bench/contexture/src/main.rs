//! The benchmark's server and client on contexture, as its front page teaches them: all features, arguments
//! and results validated, every guard on. One thread, which is our choice for all of them.
//!
//! `--tuned` is taken and changes nothing: we know of nothing faster in the public API.

#[cfg(feature = "client")]
mod client;
mod tools;

use contexture::Policy;
use std::error::Error;

const USAGE: &str = "\
usage: contexture-bench stdio [--tuned] [--tools N]
       contexture-bench http PORT [--stateless] [--tuned] [--tools N]
       contexture-bench client ERA stdio|http TARGET CALLS WINDOW";

/// What comes after the words that name the mode.
#[derive(Default)]
struct Options {
    stateless: bool,
    tools: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match args.as_slice() {
        ["stdio", rest @ ..] => runtime.block_on(stdio(&options(rest)?)),
        ["http", port, rest @ ..] => runtime.block_on(http(port.parse()?, &options(rest)?)),
        #[cfg(feature = "client")]
        ["client", era, kind, target, calls, window] => {
            let load = client::Load { calls: calls.parse()?, window: window.parse()? };
            runtime.block_on(client::run(era, kind, target, load))
        }
        _ => Err(USAGE.into()),
    }
}

fn options(mut args: &[&str]) -> Result<Options, Box<dyn Error>> {
    let mut options = Options::default();
    loop {
        args = match args {
            [] => return Ok(options),
            ["--tuned", rest @ ..] => rest,
            ["--stateless", rest @ ..] => {
                options.stateless = true;
                rest
            }
            ["--tools", count, rest @ ..] => {
                options.tools = count.parse()?;
                rest
            }
            _ => return Err(USAGE.into()),
        };
    }
}

async fn stdio(options: &Options) -> Result<(), Box<dyn Error>> {
    Ok(tools::server(options.tools).policy(policy()).serve_stdio().await?)
}

async fn http(port: u16, options: &Options) -> Result<(), Box<dyn Error>> {
    let server = tools::server(options.tools).policy(policy()).into_http()?;
    let server = if options.stateless { server.stateless() } else { server };
    Ok(server.serve(&format!("127.0.0.1:{port}")).await?)
}

/// The defaults, except where a work of the benchmark goes beyond what they allow a stranger.
fn policy() -> Policy {
    let mut policy = Policy::default();
    // The count of idle sessions: all of them are of one caller who proves nothing.
    policy.sessions = 65_536;
    policy.anonymous_sessions = policy.sessions;
    // `length` of 4 MiB: the default is just that, without the envelope around it.
    policy.body_bytes = 5 * 1024 * 1024;
    // `steps` over stdio: a client is told of some 1,000 steps a second and no more, and here all are counted.
    policy.notifications_per_second = u32::MAX;
    policy
}

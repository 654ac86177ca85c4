//! What can be said to the verb `bench`.

use std::time::Duration;

use clap::Args;

use super::{Target, Words, seconds};

/// A tool, and how often to call it.
#[derive(Debug, Args)]
pub(crate) struct Benching {
    /// The server: its name, `host:name`, URL or file, or `demo`; unless its command comes after `--`.
    #[arg(value_name = "TARGET")]
    pub(crate) server: Option<String>,
    /// Which tool.
    pub(crate) tool: Option<String>,
    /// Arguments: `name=text`, read as the tool's schema says, or `name:=json`. They are the same in every call.
    #[arg(value_name = "NAME=VALUE")]
    pub(crate) arguments: Vec<String>,
    /// So many calls at a time: each is made when another is answered.
    #[arg(long, short, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub(crate) concurrency: u16,
    /// So many calls a second, whether the server keeps up or not; how long a call takes counts from when it was due, so
    /// that a server that stalls is not spared.
    #[arg(long, short, value_name = "N", value_parser = rate, conflicts_with = "concurrency")]
    pub(crate) rate: Option<f64>,
    /// For so long.
    #[arg(long, short, value_name = "SECONDS", default_value = "5", value_parser = seconds, conflicts_with = "count")]
    pub(crate) duration: Duration,
    /// So many calls, however long they take.
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
    /// So many connections, which share the calls. A server that is started is started once for each.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    pub(crate) connections: u16,
    /// So many calls on each connection first, which do not count.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) warmup: u32,
    /// Calls the tool though the server says that it destroys something.
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) target: Target,
}

impl Benching {
    pub(crate) fn words(&self) -> Words {
        Words::new([&self.server, &self.tool], &self.arguments)
    }
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| (0.001..=1_000_000.0).contains(rate));
    rate.ok_or_else(|| "a number of calls a second, from 0.001 to 1000000".to_owned())
}

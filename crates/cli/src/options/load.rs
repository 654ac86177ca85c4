//! What can be said to the verb `bench`.

use clap::Args;

use super::{Target, Words};

/// A tool, and how often to call it.
#[derive(Debug, Args)]
pub(crate) struct Benching {
    /// The server: its name, `host:name`, URL or file, or `demo`; unless its command comes after `--`.
    #[arg(value_name = "TARGET")]
    pub(crate) server: Option<String>,
    /// Which tool.
    pub(crate) tool: Option<String>,
    /// Arguments: `name=text`, read as the tool's schema says, or `name:=json`.
    #[arg(value_name = "NAME=VALUE")]
    pub(crate) arguments: Vec<String>,
    #[command(flatten)]
    pub(crate) target: Target,
}

impl Benching {
    pub(crate) fn words(&self) -> Words {
        Words::new([&self.server, &self.tool], &self.arguments)
    }
}

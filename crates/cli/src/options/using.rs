//! What can be said to the verbs that use a server: lists, calls, reading, watching.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use contexture::model::LoggingLevel;

use super::target::{level, seconds};
use super::{Target, Words};

#[derive(Debug, Subcommand)]
pub(crate) enum Listing {
    /// Lists them all.
    List(Whole),
}

impl Listing {
    pub(crate) fn whole(&self) -> &Whole {
        let Self::List(whole) = self;
        whole
    }
}

/// A verb that is about the server alone.
#[derive(Debug, Args)]
pub(crate) struct Whole {
    /// The server: its name, `host:name`, URL or file, or `demo`; unless its command comes after `--`.
    #[arg(value_name = "TARGET")]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) target: Target,
}

impl Whole {
    pub(crate) fn words(&self) -> Words {
        Words::new([&self.server], &[])
    }
}

/// A tool, and what to call it with.
#[derive(Debug, Args)]
pub(crate) struct Calling {
    /// The server: its name, `host:name`, URL or file, or `demo`; unless its command comes after `--`.
    #[arg(value_name = "TARGET")]
    pub(crate) server: Option<String>,
    /// Which tool.
    pub(crate) tool: Option<String>,
    /// Arguments: `name=text`, read as the tool's schema says, or `name:=json`.
    #[arg(value_name = "NAME=VALUE")]
    pub(crate) arguments: Vec<String>,
    /// All arguments as a JSON object; `-` reads it from standard input.
    #[arg(long, value_name = "OBJECT")]
    pub(crate) json: Option<String>,
    /// Sends arguments as they are, also those that the tool's schema refuses.
    #[arg(long)]
    pub(crate) unchecked: bool,
    /// Keeps pictures, sound and other bytes in this folder. Nothing there is written over.
    #[arg(long, value_name = "DIR")]
    pub(crate) save: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) target: Target,
}

impl Calling {
    pub(crate) fn words(&self) -> Words {
        Words::new([&self.server, &self.tool], &self.arguments)
    }
}

/// A resource.
#[derive(Debug, Args)]
pub(crate) struct Reading {
    /// The server: its name, `host:name`, URL or file, or `demo`; unless its command comes after `--`.
    #[arg(value_name = "TARGET")]
    pub(crate) server: Option<String>,
    /// Which resource.
    pub(crate) uri: Option<String>,
    /// Keeps pictures, sound and other bytes in this folder. Nothing there is written over.
    #[arg(long, value_name = "DIR")]
    pub(crate) save: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) target: Target,
}

impl Reading {
    pub(crate) fn words(&self) -> Words {
        Words::new([&self.server, &self.uri], &[])
    }
}

/// A prompt, and what to fill in.
#[derive(Debug, Args)]
pub(crate) struct Prompting {
    /// The server: its name, `host:name`, URL or file, or `demo`; unless its command comes after `--`.
    #[arg(value_name = "TARGET")]
    pub(crate) server: Option<String>,
    /// Which prompt.
    #[arg(value_name = "PROMPT")]
    pub(crate) name: Option<String>,
    /// Arguments: `name=text`.
    #[arg(value_name = "NAME=TEXT")]
    pub(crate) arguments: Vec<String>,
    /// Keeps pictures, sound and other bytes in this folder. Nothing there is written over.
    #[arg(long, value_name = "DIR")]
    pub(crate) save: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) target: Target,
}

impl Prompting {
    pub(crate) fn words(&self) -> Words {
        Words::new([&self.server, &self.name], &self.arguments)
    }
}

/// An argument of a prompt or of a resource template, as far as it is typed.
#[derive(Debug, Args)]
pub(crate) struct Completing {
    /// The server: its name, `host:name`, URL or file, or `demo`; unless its command comes after `--`.
    #[arg(value_name = "TARGET")]
    pub(crate) server: Option<String>,
    /// Which prompt, or which template of resources.
    #[arg(value_name = "PROMPT|TEMPLATE")]
    pub(crate) what: Option<String>,
    /// The argument that is completed, `name=` and what is typed of it; before it, others that are known.
    #[arg(value_name = "NAME=TEXT")]
    pub(crate) arguments: Vec<String>,
    #[command(flatten)]
    pub(crate) target: Target,
}

impl Completing {
    pub(crate) fn words(&self) -> Words {
        Words::new([&self.server, &self.what], &self.arguments)
    }
}

/// What is followed until somebody ends it.
#[derive(Debug, Args)]
pub(crate) struct Subscribing {
    /// The server: its name, `host:name`, URL or file, or `demo`; unless its command comes after `--`.
    #[arg(value_name = "TARGET")]
    pub(crate) server: Option<String>,
    /// Resources to follow, by their URIs. Without one: the lists of tools, prompts and resources.
    #[arg(value_name = "URI")]
    pub(crate) uris: Vec<String>,
    /// Reads what has changed, and shows it.
    #[arg(long)]
    pub(crate) read: bool,
    #[command(flatten)]
    pub(crate) target: Target,
}

impl Subscribing {
    pub(crate) fn words(&self) -> Words {
        Words::new([&self.server], &self.uris)
    }
}

/// What a server has to report.
#[derive(Debug, Args)]
pub(crate) struct Logging {
    /// The server: its name, `host:name`, URL or file, or `demo`; unless its command comes after `--`.
    #[arg(value_name = "TARGET")]
    pub(crate) server: Option<String>,
    /// From this level on; everything, if nothing is said.
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    pub(crate) level: Option<LoggingLevel>,
    #[command(flatten)]
    pub(crate) target: Target,
}

impl Logging {
    pub(crate) fn words(&self) -> Words {
        Words::new([&self.server], &[])
    }
}

/// How often a server is asked whether it is there.
#[derive(Debug, Args)]
pub(crate) struct Pinging {
    /// The server: its name, `host:name`, URL or file, or `demo`; unless its command comes after `--`.
    #[arg(value_name = "TARGET")]
    pub(crate) server: Option<String>,
    /// How many times.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) count: u32,
    /// How long to wait after an answer.
    #[arg(long, value_name = "SECONDS", default_value = "0.5", value_parser = seconds)]
    pub(crate) interval: Duration,
    #[command(flatten)]
    pub(crate) target: Target,
}

impl Pinging {
    pub(crate) fn words(&self) -> Words {
        Words::new([&self.server], &[])
    }
}

/// A request as it is on the wire.
#[derive(Debug, Args)]
pub(crate) struct Raw {
    /// The server: its name, `host:name`, URL or file, or `demo`; unless its command comes after `--`.
    #[arg(value_name = "TARGET")]
    pub(crate) server: Option<String>,
    /// Its method.
    pub(crate) method: Option<String>,
    /// Its parameters, a JSON object; `-` reads them from standard input.
    #[arg(value_name = "JSON")]
    pub(crate) params: Option<String>,
    #[command(flatten)]
    pub(crate) target: Target,
}

impl Raw {
    pub(crate) fn words(&self) -> Words {
        Words::new([&self.server, &self.method, &self.params], &[])
    }
}

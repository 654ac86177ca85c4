//! The command line that every program of the benchmark has. A flag that a command does not have is refused,
//! so that nobody measures a configuration that was never switched on.

use crate::Outcome;

const USAGE: &str = "usage: PROGRAM stdio [--tuned] [--tools N] [--sync]
       PROGRAM http PORT [--stateless] [--tuned] [--tools N]
       PROGRAM client 2025-06-18|2026-07-28 stdio|http TARGET CALLS WINDOW [--tuned]
--sync is for programs whose SDK has a blocking transport.";

/// What the program is to be.
#[derive(Debug)]
pub enum Command {
    /// A server on standard input and output.
    Stdio(Serve),
    /// A server on this port of the loopback address.
    Http(u16, Serve),
    /// A client that measures itself.
    Client(Client),
}

/// How a server is configured.
#[derive(Debug, Default)]
pub struct Serve {
    /// The fastest configuration instead of the one that the documentation teaches.
    pub tuned: bool,
    /// HTTP: legacy without sessions, and answers in JSON.
    pub stateless: bool,
    /// stdio: the SDK's blocking transport.
    pub sync: bool,
    /// How many numbered tools there are beside the five.
    pub tools: usize,
}

/// Which calls a client makes, and where.
#[derive(Debug)]
pub struct Client {
    /// The modern era (2026-07-28) or the legacy one (2025-06-18).
    pub modern: bool,
    /// How to get there.
    pub target: Target,
    /// How many calls are timed.
    pub calls: usize,
    /// How many of them are in flight.
    pub window: usize,
    /// The fastest configuration instead of the one that the documentation teaches.
    pub tuned: bool,
}

/// Where a client finds its server.
#[derive(Debug)]
pub enum Target {
    /// A program to start with the argument `stdio`.
    Program(String),
    /// An endpoint.
    Url(String),
}

impl Command {
    /// Reads the command line of this process; the error is the usage.
    pub fn read() -> Outcome<Self> {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        parse(&words).ok_or_else(|| USAGE.into())
    }
}

fn parse(words: &[&str]) -> Option<Command> {
    match words {
        ["stdio", flags @ ..] => {
            let serve = Serve::parse(flags)?;
            (!serve.stateless).then_some(Command::Stdio(serve))
        }
        ["http", port, flags @ ..] => {
            let serve = Serve::parse(flags)?;
            (!serve.sync).then_some(Command::Http(port.parse().ok()?, serve))
        }
        ["client", era, over, target, calls, window, flags @ ..] => {
            Some(Command::Client(Client::parse(era, over, target, calls, window, flags)?))
        }
        _ => None,
    }
}

impl Serve {
    fn parse(mut flags: &[&str]) -> Option<Self> {
        let mut serve = Self::default();
        while let [flag, rest @ ..] = flags {
            flags = rest;
            match *flag {
                "--tuned" => serve.tuned = true,
                "--stateless" => serve.stateless = true,
                "--sync" => serve.sync = true,
                "--tools" => {
                    serve.tools = flags.first()?.parse().ok()?;
                    flags = &flags[1..];
                }
                _ => return None,
            }
        }
        Some(serve)
    }
}

impl Client {
    fn parse(era: &str, over: &str, target: &str, calls: &str, window: &str, flags: &[&str]) -> Option<Self> {
        let modern = match era {
            "2025-06-18" => false,
            "2026-07-28" => true,
            _ => return None,
        };
        let target = match over {
            "stdio" => Target::Program(target.into()),
            "http" => Target::Url(target.into()),
            _ => return None,
        };
        let tuned = match flags {
            [] => false,
            ["--tuned"] => true,
            _ => return None,
        };
        let (calls, window) = (calls.parse().ok()?, window.parse().ok()?);
        (calls > 0 && window > 0).then_some(Self { modern, target, calls, window, tuned })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_its_flags_in_any_order() {
        let words = ["http", "80", "--tools", "7", "--stateless", "--tuned"];
        let Some(Command::Http(80, serve)) = parse(&words) else { panic!("not read") };
        assert!(serve.tuned && serve.stateless && serve.tools == 7);
    }

    #[test]
    fn what_a_command_does_not_have_is_refused() {
        for words in [
            &["stdio", "--stateless"][..],
            &["stdio", "--tools"],
            &["http", "80", "--sync"],
            &["http", "--tuned"],
            &["client", "2025-11-25", "http", "u", "1", "1"],
            &["client", "2026-07-28", "http", "u", "1", "0"],
            &["client", "2026-07-28", "http", "u", "1", "1", "--tools"],
        ] {
            assert!(parse(words).is_none(), "{words:?}");
        }
    }
}

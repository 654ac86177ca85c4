//! What `cargo xtask bench` was asked for. It reads words and decides nothing about servers or rows.

const USAGE: &str = "\
usage: cargo xtask bench [--quick] [--seconds N] [--rounds N] [--wait N] [--retries N] [--only WORK,…] [--servers NAME,…] [--merge]
       cargo xtask bench gateway [--seconds N] [--rounds N] [--wait N] [--only ROW,…] [--servers NAME,…]
       cargo xtask bench cli [--rounds N]
       cargo xtask bench --render
       cargo xtask bench --perf SERVER sessions|stateless|modern [--work WORK[:BYTES][@CONNECTIONS]] [--seconds N]";

/// What to measure, how long, and what to do with it.
pub(super) struct Options {
    /// One round of the most telling rows.
    pub(super) quick: bool,
    /// Of each measurement.
    pub(super) seconds: u64,
    /// Of which the median counts.
    pub(super) rounds: usize,
    /// Seconds to wait for an idle machine before each measurement.
    pub(super) wait: u64,
    /// How often a disturbed measurement is repeated.
    pub(super) retries: usize,
    /// Rows whose key begins with one of these; all if there are none.
    pub(super) only: Vec<String>,
    /// Servers of these names; all if there are none.
    pub(super) servers: Vec<String>,
    /// Put a part into the results that are there.
    pub(super) merge: bool,
    /// Only draw what is there.
    pub(super) render: bool,
    /// Server and setting to profile.
    pub(super) perf: Option<(String, String)>,
    /// What the profiled server has to do.
    pub(super) work: String,
}

impl Options {
    /// Reads the words after `bench`.
    pub(super) fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Self {
            quick: args.iter().any(|arg| arg == "--quick"),
            seconds: 1,
            rounds: 3,
            wait: 20,
            retries: 2,
            only: Vec::new(),
            servers: Vec::new(),
            merge: false,
            render: false,
            perf: None,
            work: "echo".into(),
        };
        if options.quick {
            (options.rounds, options.retries) = (1, 1);
        }
        let mut args = args.iter();
        while let Some(name) = args.next() {
            let mut value = || args.next().map(String::as_str).ok_or(USAGE);
            match name.as_str() {
                "--quick" => {}
                "--merge" => options.merge = true,
                "--render" => options.render = true,
                "--seconds" => options.seconds = number::<u64>(value()?)?.max(1),
                "--rounds" => options.rounds = number::<usize>(value()?)?.max(1),
                "--wait" => options.wait = number(value()?)?,
                "--retries" => options.retries = number(value()?)?,
                "--only" => options.only = list(value()?),
                "--servers" => options.servers = list(value()?),
                "--perf" => options.perf = Some((value()?.into(), value()?.into())),
                "--work" => options.work = value()?.into(),
                _ => return Err(USAGE.into()),
            }
        }
        Ok(options)
    }

    /// Whether nothing is left out on purpose.
    pub(super) fn is_whole(&self) -> bool {
        self.only.is_empty() && self.servers.is_empty()
    }

    /// Whether a row was asked for.
    pub(super) fn wants_row(&self, key: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| key.starts_with(only.as_str()))
    }

    /// Whether a server was asked for.
    pub(super) fn wants_server(&self, name: &str) -> bool {
        self.servers.is_empty() || self.servers.iter().any(|server| server == name)
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number\n{USAGE}"))
}

fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn words_after_quick_win() {
        let options = parse("--rounds 2 --quick --only echo,stdio").expect("valid");
        assert_eq!((options.rounds, options.retries), (2, 1));
        assert!(options.wants_row("stdio/legacy/one-core") && !options.wants_row("steps/modern"));
        assert!(!options.is_whole());
    }

    #[test]
    fn what_is_no_option_is_refused() {
        assert!(parse("--fast").is_err());
        assert!(parse("--rounds").is_err());
        assert!(parse("--rounds many").is_err());
    }
}

//! The command line: options with one value each, a few without, and the command to start after `--`.

/// What was asked for.
pub struct Args {
    options: Vec<(String, String)>,
    /// The program under test with its arguments.
    pub command: Vec<String>,
}

const WITHOUT_VALUE: [&str; 3] = ["check", "sequential", "tuned"];

impl Args {
    /// Reads the words after the verb.
    pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut options, mut command) = (Vec::new(), Vec::new());
        while let Some(word) = words.next() {
            if word == "--" {
                command = words.by_ref().collect();
                continue;
            }
            let name = word.strip_prefix("--").ok_or(format!("`{word}` is no option"))?;
            let value = if WITHOUT_VALUE.contains(&name) {
                String::new()
            } else {
                words.next().ok_or(format!("{word} needs a value"))?
            };
            options.push((name.to_owned(), value));
        }
        if command.is_empty() {
            return Err("no command after `--`".into());
        }
        Ok(Self { options, command })
    }

    /// Whether the option was given.
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The option's value, if it was given.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// Every value of an option that can be given more than once.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.options.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The value of an option that must be there.
    pub fn need(&self, name: &str) -> Result<&str, String> {
        self.get(name).ok_or(format!("--{name} is missing"))
    }

    /// A number, or what it is by default.
    pub fn number<T: std::str::FromStr>(&self, name: &str, default: T) -> Result<T, String> {
        self.get(name).map_or(Ok(default), |text| {
            text.parse().map_err(|_| format!("--{name}: `{text}` is not a number of that kind"))
        })
    }
}

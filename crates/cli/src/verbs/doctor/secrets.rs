//! Secrets in command lines: everybody on the machine can read those. What looks like one is named by its place, never shown.

use contexture_host::config::{ServerEntry, TransportSpec};

use super::report::Report;
use super::step::Step;

/// How tokens of well-known services begin.
const PREFIXES: &[&str] =
    &["sk-", "ghp_", "gho_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA", "AIza", "Bearer ", "eyJ"];
/// Options and parameters that are followed by one.
const NAMES: &[&str] =
    &["token", "secret", "password", "passwd", "api-key", "api_key", "apikey", "access-key"];

/// Looks at what a server is started with.
pub(super) fn look(report: &mut Report, entry: &ServerEntry) {
    let found: Vec<String> = match &entry.transport {
        TransportSpec::Stdio { args, .. } => in_arguments(args),
        TransportSpec::Http { url, .. } => {
            let query = url.split_once('?').map(|(_, query)| query).unwrap_or_default();
            let named =
                query.split('&').filter_map(|pair| pair.split_once('=')).find(|(name, _)| is_named(name));
            named.map(|(name, _)| format!("{name} in the address")).into_iter().collect()
        }
    };
    if found.is_empty() {
        return;
    }
    let next = "put it into \"env\" (or \"headers\"), by the name of a variable: \"${NAME}\"";
    report.warn(Step::Secrets, "what looks like a secret can be read by everybody on this machine", next);
    report.details(found);
}

fn in_arguments(args: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for (index, argument) in args.iter().enumerate() {
        let place = index + 1;
        let (name, value) = argument.split_once('=').unwrap_or((argument, ""));
        if PREFIXES.iter().any(|prefix| argument.starts_with(prefix) || value.starts_with(prefix)) {
            found.push(format!("argument {place}"));
        } else if name.starts_with('-') && is_named(name) && !value.is_empty() {
            found.push(format!("argument {place}, {name}=…"));
        } else if argument.starts_with('-') && is_named(argument) && has_value(args.get(index + 1)) {
            found.push(format!("argument {}, after {argument}", place + 1));
        }
    }
    found
}

fn has_value(next: Option<&String>) -> bool {
    next.is_some_and(|next| !next.starts_with('-') && !next.is_empty())
}

fn is_named(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    // A file that holds one is where one should be.
    !name.ends_with("file") && !name.ends_with("path") && NAMES.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::in_arguments;

    #[test]
    fn secrets_are_found_and_not_shown() {
        let args =
            ["-y", "server", "--api-key", "s3cret", "--token=s3cret", "--token-file", "f", "ghp_s3cret"];
        let found = in_arguments(&args.map(str::to_owned));
        assert_eq!(found, ["argument 4, after --api-key", "argument 5, --token=…", "argument 8"]);
    }
}

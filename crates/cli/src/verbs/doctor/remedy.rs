//! What helps a program that ended at once, by its last words. Words are looked for, nothing is interpreted.

/// Words, and what to do where they were the last.
const KNOWN: &[(&[&str], &str)] = &[
    (
        &["Cannot find module", "ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND"],
        "a JavaScript module is missing: npm install in its folder, build it if it is built, or correct the path",
    ),
    (
        &["E404", "404 Not Found - GET", "No matching distribution", "not found in the package registry"],
        "there is no such package: correct its name",
    ),
    (
        &["EADDRINUSE", "Address already in use", "address already in use"],
        "something else has its port: end that, or give it another port",
    ),
    (
        &["ENOTFOUND", "getaddrinfo", "Temporary failure in name resolution", "Name or service not known"],
        "it could not look up a name: is there a network, or a proxy that it must be told of (\"env\")?",
    ),
    (
        &["API key", "API_KEY", "api key", "environment variable", "TOKEN"],
        "it misses a variable: servers get few of yours, so name it in \"env\", or with --env NAME",
    ),
    (&["Permission denied", "EACCES"], "it may not do what it tries: whose is the file or the port?"),
    (
        &["No such file or directory", "ENOENT"],
        "a path is wrong: it is relative to the folder that the server runs in",
    ),
    (&["command not found", "not recognized as"], "the script starts a program that is not on PATH"),
    (&["Cannot connect to the Docker daemon"], "start Docker"),
    (
        &["Unable to find image", "pull access denied"],
        "the image is not there: docker pull it, or correct its name",
    ),
    (
        &["unrecognized arguments", "unknown option", "unexpected argument", "Usage:", "usage:"],
        "correct its arguments",
    ),
    (
        &["SyntaxError", "Unsupported engine", "requires Python"],
        "it was written for another version of what runs it",
    ),
];

/// What to do about a program that said this and ended. `by_hand` is how a person starts it.
pub(super) fn remedy(words: &str, by_hand: &str) -> String {
    if let Some(module) = missing_module(words) {
        let package = module.split('.').next().unwrap_or_default();
        let which =
            if package == module { String::new() } else { format!(", in a version that has {module}") };
        return format!("install the module in the Python that runs it{which}: pip install {package}");
    }
    let known = KNOWN.iter().find(|(marks, _)| marks.iter().any(|mark| words.contains(mark)));
    match known {
        Some((_, advice)) => (*advice).to_owned(),
        None => format!("start it by hand and see: {by_hand}"),
    }
}

/// The Python module that is missing.
fn missing_module(words: &str) -> Option<&str> {
    let (_, after) = words.split_once("No module named ")?;
    let name = after.trim_start_matches(['\'', '"']);
    let end = name.find(|char: char| !(char.is_ascii_alphanumeric() || "_.-".contains(char)));
    let name = name[..end.unwrap_or(name.len())].trim_matches('.');
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_are_understood() {
        let python =
            "Traceback (most recent call last):\nModuleNotFoundError: No module named 'mcp.server'\n";
        let advice = remedy(python, "");
        assert!(advice.ends_with("in a version that has mcp.server: pip install mcp"), "{advice}");
        assert!(remedy("Error: Cannot find module '/x/build/index.js'", "").contains("npm install"));
        assert!(remedy("Error: GITHUB_TOKEN is not set", "").contains("--env"));
        assert_eq!(remedy("?", "server --stdio"), "start it by hand and see: server --stdio");
    }
}

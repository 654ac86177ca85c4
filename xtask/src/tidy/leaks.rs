//! Rules about what must not leave this machine: where the checkout and the home directory are, and from
//! which hosts packages were downloaded.
//!
//! Lock files and copied output are how such things get in. Directories that mean the same everywhere
//! (`/tmp`, `/home`) are not looked for: a checkout in one of them says nothing about the machine.

use super::Finding;
use crate::workspace::TextFile;
use std::path::Path;

/// Hosts of public package registries, written so that this file does not contain them.
const HOSTS: [&str; 6] = [
    concat!("registry.", "npmjs.org"),
    concat!("registry.", "yarnpkg.com"),
    concat!("pypi.", "org/simple"),
    concat!("files.", "pythonhosted.org"),
    concat!("index.", "crates.io"),
    concat!("static.", "crates.io"),
];

const EVERYWHERE: [&str; 12] = [
    "/", "/app", "/build", "/builds", "/home", "/mnt", "/opt", "/src", "/srv", "/tmp", "/usr/src", "/var/tmp",
];

/// What to look for, on this machine.
pub struct Secrets {
    directories: Vec<String>,
    hosts: Vec<String>,
}

/// The checkout's parent, the home directory, the public registries and those that the environment names.
pub fn secrets(root: &Path) -> Secrets {
    let parent = root.canonicalize().ok().and_then(|root| root.parent().map(Path::to_path_buf));
    let home = std::env::var("HOME").ok();
    let directories = parent.map(|path| path.to_string_lossy().into_owned()).into_iter().chain(home);
    let directories = directories
        .map(|path| path.trim_end_matches('/').to_owned())
        .filter(|path| path.starts_with('/') && !EVERYWHERE.contains(&path.as_str()));
    let variables = ["PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "NPM_CONFIG_REGISTRY"];
    let named = variables.iter().filter_map(|name| std::env::var(name).ok());
    let hosts = named.filter_map(|url| host(&url)).chain(HOSTS.map(str::to_owned));
    Secrets { directories: directories.collect(), hosts: hosts.collect() }
}

fn host(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split('/').next()?;
    let host = authority.rsplit('@').next()?.split(':').next()?;
    (host.contains('.')).then(|| host.to_owned())
}

/// Checks every text file.
pub fn check(files: &[TextFile], secrets: &Secrets) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        for (index, line) in file.text.lines().enumerate() {
            let directory = secrets.directories.iter().find(|directory| names_directory(line, directory));
            if let Some(directory) = directory {
                let message =
                    format!("names `{directory}`, a directory of this machine: write a relative path");
                findings.push(Finding::new("leak", &file.path, index + 1, message));
            }
            if let Some(host) = secrets.hosts.iter().find(|host| line.contains(host.as_str())) {
                let message = format!("names the package registry `{host}`: leave the host out");
                findings.push(Finding::new("leak", &file.path, index + 1, message));
            }
        }
    }
    findings
}

/// Whether the line has the directory itself or something in it, and not a longer path around it.
fn names_directory(line: &str, directory: &str) -> bool {
    line.match_indices(directory).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + directory.len()..].chars().next();
        let starts =
            !before.is_some_and(|char| char.is_alphanumeric() || matches!(char, '_' | '.' | '-' | '~'));
        starts && after == Some('/')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        let secrets =
            Secrets { directories: vec!["/data/checkouts".into()], hosts: vec!["packages.example".into()] };
        let files = [TextFile { path: "a.md".into(), text: text.into() }];
        check(&files, &secrets).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn machine_paths_and_hosts_are_found() {
        assert_eq!(lines("fine\nsee /data/checkouts/a\nfile:///data/checkouts/b\n"), [2, 3]);
        assert_eq!(lines("https://packages.example/simple"), [1]);
        assert!(lines("/data/checkouts-old/a ./data/checkouts/b x/data/checkouts").is_empty());
    }

    #[test]
    fn hosts_come_without_their_credentials() {
        assert_eq!(
            host("https://user:word@packages.example:8443/simple/").as_deref(),
            Some("packages.example")
        );
        assert_eq!(host("direct"), None);
    }
}

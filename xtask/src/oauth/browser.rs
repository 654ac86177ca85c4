//! The browser: Chromium, found or installed, and the person who uses it.

use crate::{packages, process};
use std::path::{Path, PathBuf};
use std::process::Command;

/// By these names it is on the path; the first is also Debian's package.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// What `BROWSER` names, and what that needs.
pub struct Browser {
    person: PathBuf,
    chromium: PathBuf,
}

impl Browser {
    /// Installs Chromium where we may and it is not there.
    pub fn prepare(root: &Path) -> Result<Self, String> {
        let person = root.join("interop/oauth/browser.mjs");
        if let Some(chromium) = find() {
            return Ok(Self { person, chromium });
        }
        packages::install("logging in needs", &NAMES[..1])?;
        let chromium = find().ok_or("chromium was installed and is not on the path")?;
        Ok(Self { person, chromium })
    }

    /// What a program's environment has to say; the file gets what the person saw.
    pub fn environment<'a>(&'a self, log: &'a Path) -> [(&'static str, &'a Path); 3] {
        [("BROWSER", &self.person), ("CHROMIUM", &self.chromium), ("BROWSER_LOG", log)]
    }
}

fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let programs = NAMES.iter().flat_map(|name| places.iter().map(move |place| place.join(name)));
    programs
        .filter(|program| program.is_file())
        .find(|program| process::succeeds(Command::new(program).arg("--version")))
}

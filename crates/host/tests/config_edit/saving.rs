//! On the way to the disk: all or nothing, and what was there is kept.

use std::fs;
use std::path::Path;

use contexture_host::config::HostKind;

use super::{entry, open, place, read, save};
use crate::stage::Stage;

const TEXT: &str = "{\n  \"mcpServers\": {}\n}\n";

fn changed(stage: &Stage) -> contexture_host::config::edit::Document {
    let mut document = open(stage, HostKind::Cursor);
    document.put("new", &entry(r#"{ "command": "x" }"#)).unwrap_or_else(|fault| panic!("{fault}"));
    document
}

/// Nothing but the file, and what was there before.
fn is_tidy(path: &Path) {
    let folder = path.parent().expect("there is a folder");
    let names = fs::read_dir(folder).expect("it can be listed").flatten().map(|entry| entry.file_name());
    for name in names.filter_map(|name| name.into_string().ok()) {
        assert!(
            name == "mcp.json" || name == "mcp.json.contexture-backup" || name == "real.json",
            "{name} is left behind"
        );
    }
}

#[test]
fn what_was_there_is_kept_beside_it() {
    let stage = Stage::new();
    let path = stage.write(place(HostKind::Cursor), TEXT);
    let saved = changed(&stage).save().unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(saved.file, path);
    let backup = saved.backup.expect("something was there");
    assert_eq!(read(&backup), TEXT);
    let before = read(&path);
    let mut document = open(&stage, HostKind::Cursor);
    document.remove("new").unwrap_or_else(|fault| panic!("{fault}"));
    save(&document);
    assert_eq!(read(&backup), before, "one generation is kept");
    is_tidy(&path);
}

#[test]
fn a_file_that_was_not_there_is_made_for_its_owner_alone() {
    let stage = Stage::new();
    let saved = changed(&stage).save().unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(saved.backup, None);
    #[cfg(unix)]
    assert_eq!(mode(&saved.file), 0o600);
    is_tidy(&saved.file);
}

#[test]
fn what_somebody_else_wrote_meanwhile_stays() {
    for (before, after) in [(Some(TEXT), Some("{}")), (Some(TEXT), None), (None, Some("{}"))] {
        let stage = Stage::new();
        let path = stage.path(place(HostKind::Cursor));
        if let Some(text) = before {
            stage.write(place(HostKind::Cursor), text);
        }
        let document = changed(&stage);
        match after {
            Some(text) => drop(stage.write(place(HostKind::Cursor), text)),
            None => fs::remove_file(&path).expect("it can be removed"),
        }
        let fault = document.save().expect_err("it was changed").to_string();
        assert!(fault.contains("somebody else") && fault.contains("try again"), "{fault}");
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), after);
    }
}

#[cfg(unix)]
#[test]
fn permissions_stay_and_links_are_followed() {
    use crate::stage::restrict;
    let stage = Stage::new();
    let real = stage.write("home/dotfiles/real.json", TEXT);
    restrict(&real, 0o640);
    let link = stage.path(place(HostKind::Cursor));
    fs::create_dir_all(link.parent().expect("there is a folder")).expect("it can be made");
    std::os::unix::fs::symlink(&real, &link).expect("a link can be made");
    let saved = changed(&stage).save().unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(saved.file, real);
    assert!(link.is_symlink(), "the link is still one");
    assert!(read(&real).contains("new"));
    assert_eq!((mode(&real), mode(&saved.backup.expect("something was there"))), (0o640, 0o640));

    fs::remove_file(&real).expect("it can be removed");
    let fault = contexture_host::config::edit::Document::open(
        &stage.sources(),
        &super::file(&stage, HostKind::Cursor),
    );
    assert!(fault.expect_err("it leads nowhere").to_string().contains("remove the link"));
}

#[cfg(unix)]
#[test]
fn read_only_files_and_folders_in_the_way_are_left_alone() {
    use crate::stage::restrict;
    let stage = Stage::new();
    let path = stage.write(place(HostKind::Cursor), TEXT);
    restrict(&path, 0o444);
    let fault = changed(&stage).save().expect_err("it is read-only").to_string();
    assert!(fault.contains("chmod u+w"), "{fault}");
    assert_eq!(read(&path), TEXT);
    is_tidy(&path);

    // A folder stands where what was there would be kept.
    restrict(&path, 0o600);
    fs::create_dir_all(path.with_file_name("mcp.json.contexture-backup").join("x")).expect("it can be made");
    let fault = changed(&stage).save().expect_err("nothing can be kept").to_string();
    assert!(fault.contains("contexture-backup"), "{fault}");
    assert_eq!(read(&path), TEXT);
    is_tidy(&path);
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

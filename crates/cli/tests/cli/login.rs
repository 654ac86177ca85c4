//! Logging in and out, and what the other verbs make of it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::guarded::{Guarded, Habits, SECRET, visit};
use crate::{BINARY, Run, command};

/// Only a test that fails waits for so long.
const PATIENCE: Duration = Duration::from_secs(30);

/// A person: their own folder for data, and a browser that only writes down where it is sent.
struct Person {
    home: PathBuf,
}

impl Person {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let home = std::env::temp_dir().join(format!("contexture-login-{}-{count}", std::process::id()));
        std::fs::create_dir(&home).expect("a new folder");
        let record = home.join("sent to");
        let script = format!(
            "#!/bin/sh\nprintf '%s' \"$*\" > '{0}.draft' && mv '{0}.draft' '{0}'\n",
            record.display()
        );
        std::fs::write(home.join("browser"), script).expect("it is ours");
        std::fs::set_permissions(home.join("browser"), PermissionsExt::from_mode(0o700)).expect("it is ours");
        Self { home }
    }

    fn data(&self) -> PathBuf {
        self.home.join("data")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(arguments);
        command.env("XDG_DATA_HOME", self.data()).env("BROWSER", self.home.join("browser"));
        // Nobody's own keyring is touched.
        command.env_remove("DBUS_SESSION_BUS_ADDRESS").env_remove("XDG_RUNTIME_DIR");
        command
    }

    /// Runs to the end. Whatever is done, no secret is ever shown.
    fn run(&self, arguments: &[&str]) -> Run {
        discreet(self.command(arguments).output().expect("the binary runs").into())
    }

    /// A verb on the server.
    fn on(&self, server: &Guarded, arguments: &[&str]) -> Run {
        self.run(&[arguments, &["--", &server.url()]].concat())
    }

    /// Where the browser was sent, as soon as it was.
    fn sent_to(&self) -> String {
        let begun = Instant::now();
        loop {
            if let Ok(url) = std::fs::read_to_string(self.home.join("sent to")) {
                std::fs::remove_file(self.home.join("sent to")).expect("it is ours");
                return url;
            }
            assert!(begun.elapsed() < PATIENCE, "the browser was not opened");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn was_sent(&self) -> bool {
        self.home.join("sent to").exists()
    }

    /// Logs in with the browser, as people do.
    fn log_in(&self, server: &Guarded) -> Run {
        self.log_in_with(server, &[])
    }

    fn log_in_with(&self, server: &Guarded, wishes: &[&str]) -> Run {
        let arguments = [&["login", &server.url()], wishes].concat();
        let login = self.command(&arguments).spawn().expect("the binary runs");
        come_back(&self.sent_to());
        ended(login)
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.home);
    }
}

fn discreet(run: Run) -> Run {
    assert!(!run.stdout.contains(SECRET) && !run.stderr.contains(SECRET), "{} {}", run.stdout, run.stderr);
    run
}

fn ended(child: Child) -> Run {
    discreet(child.wait_with_output().expect("it ends").into())
}

/// Follows the authorization server back to the program, and gives the last page.
fn come_back(url: &str) -> String {
    let (_, back) = visit(url);
    visit(&back.expect("the way back")).0
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

// covers: AUTH-TOKEN-STORAGE, AUTH-CLIENT-DCR, AUTH-STATE-USE
#[test]
fn after_a_login_every_verb_is_let_in_until_the_logout() {
    let (server, person) = (Guarded::new(), Person::new());
    let login = person.log_in(&server);
    assert_eq!(login.code, Some(0), "{}", login.stderr);
    assert!(login.stdout.starts_with(&format!("logged in to {}", server.url())), "{}", login.stdout);
    assert!(login.stderr.contains("in your browser") && login.stderr.contains("/authorize?"), "{}", login.stderr);
    assert_eq!(server.log(), ["register", "authorize the-client for use", "token authorization_code"]);
    for _ in 0..2 {
        let echoed = person.on(&server, &["call", "echo", "message=hi"]);
        assert_eq!((echoed.code, echoed.stdout.as_str()), (Some(0), "hi\n"), "{}", echoed.stderr);
    }
    assert!(server.log().is_empty() && !person.was_sent(), "nobody is asked again");
    for file in files(&person.data()) {
        let mode = std::fs::metadata(&file).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file:?}");
        let text = String::from_utf8_lossy(&std::fs::read(&file).expect("it is ours")).into_owned();
        assert!(!text.contains(SECRET), "{file:?}");
    }

    let logout = person.run(&["logout", &server.url()]);
    assert_eq!(logout.stdout, format!("logged out of {}\n", server.url()), "{}", logout.stderr);
    let refused = person.on(&server, &["call", "echo", "message=hi"]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    let again = person.run(&["logout", &server.url(), "-o", "json"]);
    assert_eq!((again.code, &again.json()["loggedOut"]), (Some(0), &false.into()), "{}", again.stderr);
}

#[test]
fn what_is_known_is_told_without_a_token() {
    let (server, person) = (Guarded::new(), Person::new());
    let url = server.url();
    let nobody = person.run(&["auth", &url, "-o", "json"]);
    assert_eq!((nobody.code, &nobody.json()["login"]), (Some(3), &serde_json::Value::Null));
    let hint = format!("contexture login {url}");
    assert_eq!((&nobody.json()["next"], &nobody.error()["hint"]), (&hint.as_str().into(), &hint.as_str().into()));
    assert!(files(&person.data()).is_empty() && server.log().is_empty(), "to ask changes nothing");

    person.log_in(&server);
    let known = person.run(&["auth", &url, "-o", "json"]);
    assert_eq!(known.code, Some(0), "{}", known.stderr);
    let login = &known.json()["login"];
    assert_eq!(login["issuer"], server.origin.as_str());
    assert_eq!(login["resource"], url.as_str());
    assert_eq!(login["clientId"], "the-client");
    assert_eq!(login["scopes"], serde_json::json!(["use"]));
    assert_eq!((&login["expired"], &login["refreshable"]), (&false.into(), &true.into()));
    assert!(login["expiresAt"].is_u64() && known.json().get("next").is_none(), "{}", known.stdout);
    let text = person.run(&["auth", &url]).stdout;
    for words in [&server.origin, "scopes    use", "minutes, then refreshed"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

/// The address is shown, no browser is opened, and the way back can be brought by hand.
#[test]
fn a_headless_login_shows_the_address_and_takes_a_pasted_way_back() {
    let (server, person) = (Guarded::new(), Person::new());
    let mut login = person.command(&["login", &server.url(), "--headless"]);
    let mut login = login.stdin(Stdio::piped()).spawn().expect("the binary runs");
    let mut stderr = BufReader::new(login.stderr.take().expect("a pipe"));
    let address = loop {
        let mut line = String::new();
        assert!(stderr.read_line(&mut line).expect("text") > 0, "it ended");
        if line.trim().starts_with("http") {
            break line.trim().to_owned();
        }
    };
    let (_, back) = visit(&address);
    let back = back.expect("the way back");
    let mut stdin = login.stdin.take().expect("a pipe");
    let another = back.replace("state=", "state=another");
    write!(stdin, "hello\n\n{another}\n{back}\n").expect("it reads");
    let done = ended(login);
    assert_eq!(done.code, Some(0), "{}", done.stdout);
    assert!(!person.was_sent(), "a browser was opened");
    assert_eq!(person.on(&server, &["call", "echo", "message=hi"]).stdout, "hi\n");
}

#[test]
fn a_headless_login_comes_back_by_itself_where_it_can() {
    let (server, person) = (Guarded::new(), Person::new());
    let mut login = person.command(&["login", &server.url(), "--headless"]).spawn().expect("the binary runs");
    let mut stderr = BufReader::new(login.stderr.take().expect("a pipe")).lines();
    let address = stderr.find_map(|line| line.ok().filter(|line| line.trim().starts_with("http")));
    let page = come_back(address.expect("an address").trim());
    assert!(page.contains("You can close this page"), "{page}");
    assert_eq!(ended(login).code, Some(0));
}

/// Nothing is begun that nobody can finish.
#[test]
fn where_nobody_can_be_asked_verbs_say_how_to_log_in() {
    let (server, person) = (Guarded::new(), Person::new());
    for arguments in [&["tools", "list"][..], &["call", "echo", "message=hi", "--no-input"], &["read", "a:b"]] {
        let text = person.on(&server, arguments);
        assert_eq!(text.code, Some(3), "{arguments:?}: {}", text.stderr);
        let hint = format!("contexture login {}", server.url());
        assert!(text.stderr.lines().any(|line| line.trim() == hint), "{arguments:?}: {}", text.stderr);
        let json = person.on(&server, &[arguments, &["-o", "json"]].concat()).error();
        assert_eq!((&json["kind"], &json["hint"]), (&"auth_required".into(), &hint.as_str().into()), "{json}");
    }
    assert!(server.log().is_empty(), "somebody was registered, or asked");
    assert!(!person.was_sent() && files(&person.data()).is_empty());
}

#[test]
fn who_says_themselves_who_asks_is_not_told_to_log_in() {
    let (server, person) = (Guarded::new(), Person::new());
    person.log_in(&server);
    let own = person.on(&server, &["tools", "list", "-H", "Authorization: Bearer mine"]);
    assert_eq!(own.code, Some(3), "what is stored was shown in its place");
    assert!(!own.stderr.contains("contexture login"), "{}", own.stderr);
}

/// What has expired is refreshed once, however many processes find out at the same time.
// covers: AUTH-CLIENT-401-HANDLE
#[test]
fn an_expired_token_is_refreshed_once_for_all_processes() {
    let (server, person) = (Guarded::new(), Person::new());
    server.lifetime(1);
    person.log_in(&server);
    server.log();
    server.lifetime(3600);
    let url = server.url();
    let calls = [(); 4].map(|()| {
        person.command(&["call", "echo", "message=hi", "--", &url]).spawn().expect("the binary runs")
    });
    for call in calls {
        let echoed = ended(call);
        assert_eq!((echoed.code, echoed.stdout.as_str()), (Some(0), "hi\n"), "{}", echoed.stderr);
    }
    assert_eq!(server.log(), ["token refresh_token"]);
}

#[test]
fn a_login_that_is_no_longer_good_is_said_to_be_needed_again() {
    let (server, person) = (Guarded::new(), Person::new());
    person.log_in(&server);
    server.forget_everybody();
    let refused = person.on(&server, &["tools", "list"]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert!(refused.stderr.contains(&format!("contexture login {}", server.url())), "{}", refused.stderr);
    let again = person.log_in(&server);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert_eq!(person.on(&server, &["call", "echo", "message=hi"]).stdout, "hi\n");
}

// covers: AUTH-CLIENT-PREREGISTERED
#[test]
fn a_client_that_cannot_register_is_given_its_id() {
    let (server, person) = (Guarded::with(Habits { says_yes: true, registers: false }), Person::new());
    let refused = person.run(&["login", &server.url(), "-o", "json"]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert!(refused.error()["hint"].as_str().is_some_and(|hint| hint.contains("--client-id")), "{}", refused.stderr);
    assert!(server.log().is_empty() && !person.was_sent());
    let login = person.log_in_with(&server, &["--client-id", "mine", "--scope", "more"]);
    assert_eq!(login.code, Some(0), "{}", login.stderr);
    assert_eq!(server.log(), ["authorize mine for more use", "token authorization_code"]);
    assert_eq!(person.on(&server, &["call", "echo", "message=hi"]).stdout, "hi\n");
}

/// Servers that are started take their credentials from the environment, and nobody logs in to them.
// covers: AUTH-STDIO-NO-OAUTH, AUTH-STDIO-ENV-CREDS
#[test]
fn servers_that_are_started_are_given_their_credentials_by_the_environment() {
    let person = Person::new();
    let script = "test \"$API_KEY\" = key || exit 9; exec \"$0\" demo";
    let target = ["--", "sh", "-c", script, BINARY];
    let given = person.run(&[&["call", "echo", "message=hi", "--env", "API_KEY=key"], &target[..]].concat());
    assert_eq!(given.stdout, "hi\n", "{}", given.stderr);
    let missing = person.run(&[&["call", "echo", "message=hi"], &target[..]].concat());
    assert_eq!(missing.code, Some(4), "{}", missing.stderr);
    assert!(!missing.stderr.contains("login") && !person.was_sent() && files(&person.data()).is_empty());
}

/// Rows F16 and K12 of the threats: words of the authorization server are shown, and harmless.
#[test]
fn a_person_who_says_no_is_not_logged_in() {
    let (server, person) = (Guarded::with(Habits { says_yes: false, registers: true }), Person::new());
    let refused = person.log_in(&server);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert!(refused.stderr.contains("access_denied") && !refused.stderr.contains('\u{1b}'), "{:?}", refused.stderr);
    assert_eq!(person.run(&["auth", &server.url()]).code, Some(3));
}

#[test]
fn servers_that_ask_nothing_leave_no_trace() {
    let person = Person::new();
    let mut demo = command(&["demo", "--listen", "127.0.0.1:0"]).spawn().expect("the binary runs");
    let mut lines = BufReader::new(demo.stderr.take().expect("standard error")).lines();
    let line = lines.next().expect("a line").expect("text");
    let url = line.strip_prefix("listening on ").expect("an address");
    let echoed = person.run(&["call", "echo", "message=hi", "--", url]);
    assert_eq!(echoed.stdout, "hi\n", "{}", echoed.stderr);
    assert!(!person.data().exists(), "{:?}", files(&person.data()));
    // A folder that cannot be had is no hindrance, either.
    std::fs::write(person.data(), b"a file").expect("it is ours");
    let echoed = person.run(&["call", "echo", "message=hi", "--", url]);
    assert_eq!((echoed.stdout.as_str(), echoed.stderr.as_str()), ("hi\n", ""));
    demo.kill().expect("it was alive");
    demo.wait().expect("it is gone");
}

#[test]
fn tokens_that_cannot_be_kept_are_said_to_be() {
    let (server, person) = (Guarded::new(), Person::new());
    std::fs::write(person.data(), b"a file").expect("it is ours");
    let login = person.log_in(&server);
    assert_eq!(login.code, Some(1), "{}", login.stderr);
    assert!(login.stderr.contains("XDG_DATA_HOME"), "{}", login.stderr);
}

#[test]
fn a_target_is_a_url() {
    for arguments in [&["login", "example.com"][..], &["logout", "./server"], &["auth", "file:///x"], &["login"]] {
        let json = Person::new().run(&[arguments, &["-o", "json"]].concat());
        assert_eq!((json.code, &json.error()["kind"]), (Some(1), &"usage".into()), "{arguments:?}");
    }
}

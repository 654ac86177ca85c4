//! stub
pub(crate) fn tell() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}

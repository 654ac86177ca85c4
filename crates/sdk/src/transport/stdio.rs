//! Standard input and output of this process, taken over for the protocol.
//!
//! Pipes and sockets are used without blocking, which saves a thread and its hand-over per message.
//! From the moment of opening, standard output belongs to the protocol alone: what other code prints
//! goes to standard error, and what it reads from standard input is nothing.

use std::io;

use tokio::io::{AsyncRead, AsyncWrite};

use super::LineTransport;

type Reader = Box<dyn AsyncRead + Unpin + Send>;
type Writer = Box<dyn AsyncWrite + Unpin + Send>;

/// The protocol on standard input and output.
pub type StdioTransport = LineTransport<Reader, Writer>;

impl StdioTransport {
    /// Takes over standard input and output. Lines are limited to `limit` bytes.
    ///
    /// Must be called inside a tokio runtime.
    pub fn open(limit: usize) -> io::Result<Self> {
        let (reader, writer) = streams()?;
        Ok(Self::new(reader, writer, limit))
    }
}

#[cfg(unix)]
fn streams() -> io::Result<(Reader, Writer)> {
    let (input, output) = guard()?;
    Ok((reader(input)?, writer(output)?))
}

/// Keeps private copies of the two streams and points the public ones elsewhere.
#[cfg(unix)]
fn guard() -> io::Result<(std::os::fd::OwnedFd, std::os::fd::OwnedFd)> {
    use rustix::io::{FdFlags, dup, fcntl_setfd};

    let input = dup(rustix::stdio::stdin())?;
    let output = dup(rustix::stdio::stdout())?;
    // Children of this process have no business with the protocol.
    fcntl_setfd(&input, FdFlags::CLOEXEC)?;
    fcntl_setfd(&output, FdFlags::CLOEXEC)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    let nothing = std::fs::File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    Ok((input, output))
}

#[cfg(unix)]
fn reader(fd: std::os::fd::OwnedFd) -> io::Result<Reader> {
    use rustix::fs::FileType;

    Ok(match FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode) {
        FileType::Fifo => Box::new(tokio::net::unix::pipe::Receiver::from_owned_fd(fd)?),
        FileType::Socket => Box::new(socket(fd)?),
        _ => Box::new(tokio::fs::File::from_std(fd.into())),
    })
}

#[cfg(unix)]
fn writer(fd: std::os::fd::OwnedFd) -> io::Result<Writer> {
    use rustix::fs::FileType;

    Ok(match FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode) {
        FileType::Fifo => Box::new(tokio::net::unix::pipe::Sender::from_owned_fd(fd)?),
        FileType::Socket => Box::new(socket(fd)?),
        _ => Box::new(tokio::fs::File::from_std(fd.into())),
    })
}

/// Node gives its children one end of a socket pair where others give a pipe.
#[cfg(unix)]
fn socket(fd: std::os::fd::OwnedFd) -> io::Result<tokio::net::UnixStream> {
    let stream = std::os::unix::net::UnixStream::from(fd);
    stream.set_nonblocking(true)?;
    tokio::net::UnixStream::from_std(stream)
}

#[cfg(not(unix))]
fn streams() -> io::Result<(Reader, Writer)> {
    Ok((Box::new(tokio::io::stdin()), Box::new(tokio::io::stdout())))
}

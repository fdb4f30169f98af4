//! The command that makes a page served over SSH reachable from the user's own machine.

/// Over SSH: the command that forwards the port to the user's machine. `variable` reads the environment.
pub fn forwarding_line(port: u16, variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let connection = variable("SSH_CONNECTION")?;
    // SSH_CONNECTION has client address, client port, server address, server port.
    let mut fields = connection.split_whitespace().skip(2);
    let host = fields.next().unwrap_or("HOST");
    let ssh_port = fields
        .next()
        .filter(|&port| port != "22")
        .map(|port| format!(" -p {port}"));
    let user = variable("USER")
        .filter(|user| !user.is_empty())
        .map(|user| format!("{user}@"));
    Some(format!(
        "ssh -L {port}:127.0.0.1:{port}{} {}{host}",
        ssh_port.unwrap_or_default(),
        user.unwrap_or_default()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ssh_sessions_are_told_how_to_forward() {
        let line = |connection: Option<&str>| {
            forwarding_line(8321, |name| match name {
                "SSH_CONNECTION" => connection.map(str::to_owned),
                "USER" => Some("me".to_owned()),
                _ => None,
            })
        };
        assert_eq!(line(None), None);
        assert_eq!(
            line(Some("10.0.0.1 50000 10.0.0.2 22")).as_deref(),
            Some("ssh -L 8321:127.0.0.1:8321 me@10.0.0.2")
        );
        assert_eq!(
            line(Some("10.0.0.1 50000 10.0.0.2 2222")).as_deref(),
            Some("ssh -L 8321:127.0.0.1:8321 -p 2222 me@10.0.0.2")
        );
    }
}

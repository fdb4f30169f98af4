//! `skill`: it is written to the right place, and the commands it teaches agents work.

use std::fs;

use crate::program::{command, fixtures, transcript};

#[test]
fn a_skill_is_installed_and_its_commands_run() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let output = command(&["skill", "install"])
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8(output.stdout).unwrap(),
            ".agents/skills/vramscope/SKILL.md\n"
        );
    }
    let skill = folder.path().join(".agents/skills/vramscope");
    let router = fs::read_to_string(skill.join("SKILL.md")).unwrap();
    assert!(router.starts_with("---\nname: vramscope\ndescription: "));
    let mut texts = vec![router.clone()];
    for entry in fs::read_dir(skill.join("references")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(router.contains(&format!("(references/{name})")), "{name}");
        texts.push(fs::read_to_string(path).unwrap());
    }
    let mut commands = 0;
    for line in texts.iter().flat_map(|text| text.lines()) {
        let Some(line) = line.strip_prefix("vramscope ") else {
            continue;
        };
        let line = line.replace("'site=\"SITE\" never_freed'", "never_freed");
        let words = line.split_whitespace().map(|word| match word {
            "FILE" | "MEDIAN" | "ODD" => "allocator/pressure.pickle.zst",
            "DIR" => "torch-2.15.0",
            "PID" => "1",
            word => word,
        });
        let mut words: Vec<_> = words.collect();
        if ["record", "dry-run"].contains(&words[0]) {
            // After it come another program's arguments, which is not installed here.
            words.truncate(
                words
                    .iter()
                    .position(|word| *word == "--")
                    .unwrap_or(words.len()),
            );
            words.push("--help");
        }
        let output = command(&words).current_dir(fixtures()).output().unwrap();
        assert!(output.status.success(), "{line}: {}", transcript(&output));
        commands += 1;
    }
    assert!(commands > 7, "{commands}");
}

/// Somebody else's repository may have links and pipes in the skill's place.
#[cfg(unix)]
#[test]
fn nothing_is_written_through_links_and_no_pipe_is_waited_for() {
    use std::os::unix::fs::symlink;
    use std::path::Path;

    let folder = tempfile::tempdir().unwrap();
    let mine = folder.path().join("mine");
    for path in [
        "SKILL.md",
        "vramscope/SKILL.md",
        "skills/vramscope/SKILL.md",
        "oom.md",
    ] {
        fs::create_dir_all(mine.join(path).parent().unwrap()).unwrap();
        fs::write(mine.join(path), "export A=1").unwrap();
    }
    let places = [
        (".agents", "mine"),
        (".agents/skills", "mine"),
        (".agents/skills/vramscope", "mine"),
        (".agents/skills/vramscope/references", "mine"),
        (".agents/skills/vramscope/SKILL.md", "mine/SKILL.md"),
        (".agents/skills/vramscope/references/oom.md", "mine/oom.md"),
        (".agents/skills/vramscope/SKILL.md", ""),
    ];
    for (number, (place, target)) in places.into_iter().enumerate() {
        let repository = folder.path().join(number.to_string());
        let place = repository.join(place);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        match target {
            "" => drop(
                std::process::Command::new("mkfifo")
                    .arg(&place)
                    .status()
                    .unwrap(),
            ),
            target => symlink(folder.path().join(target), &place).unwrap(),
        }
        let before = crate::fleet_others::tree(&mine);
        let output = command(&["skill", "install"])
            .current_dir(&repository)
            .output()
            .unwrap();
        let text = transcript(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains("nothing is written through it"), "{text}");
        assert_eq!(crate::fleet_others::tree(&mine), before, "{text}");
    }
    // A folder named by the user may be reached through links.
    let link = folder.path().join("link");
    symlink(&mine, &link).unwrap();
    let installed = command(&["skill", "install", "--dir"])
        .arg(link.join("skills"))
        .output();
    assert!(installed.unwrap().status.success());
    let written = fs::read_to_string(Path::new(&mine).join("skills/vramscope/SKILL.md")).unwrap();
    assert!(written.starts_with("---"), "{written}");
}

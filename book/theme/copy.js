// Of a block of commands with what they print, the commands alone are copied.
document.addEventListener(
    "click",
    (event) => {
        const block = event.target.closest?.(".clip-button")?.closest("pre")?.querySelector("code.language-console");
        if (!block) return;
        event.stopImmediatePropagation();
        const lines = block.textContent.split("\n").filter((line) => line.startsWith("$ "));
        navigator.clipboard.writeText(lines.map((line) => line.slice(2)).join("\n"));
    },
    true,
);

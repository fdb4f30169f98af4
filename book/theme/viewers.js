// The viewers in the book have the colours that the reader chose for the book.
(() => {
    const page = document.documentElement;
    const dark = ["ayu", "coal", "navy"];
    const tell = () => {
        const isDark = dark.some((theme) => page.classList.contains(theme));
        for (const viewer of document.querySelectorAll("vramscope-viewer")) {
            viewer.setAttribute("theme", isDark ? "dark" : "light");
        }
    };
    new MutationObserver(tell).observe(page, { attributeFilter: ["class"] });
    tell();
})();

/** Whether an element stands on a dark ground: its text is light then. The ground itself may lie outside, as VS Code's does. */
function isOnDark(element) {
  const pixel = new OffscreenCanvas(1, 1).getContext("2d");
  pixel.fillStyle = getComputedStyle(element).color;
  pixel.fillRect(0, 0, 1, 1);
  const [red, green, blue] = pixel.getImageData(0, 0, 1, 1).data;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 128;
}

// Blocks with prompts: only the commands are copied, from a selection and by the button.
for (const block of document.querySelectorAll('code.language-console')) {
    const commands = [];
    let isCommand = false;
    const parts = block.textContent.trimEnd().split('\n').map((line) => {
        isCommand = line.startsWith('$ ') || (isCommand && line.startsWith('> '));
        const part = document.createElement('span');
        if (isCommand) {
            commands.push(line.slice(2));
            part.append(aside(line.slice(0, 2)), line.slice(2) + '\n');
        } else {
            part.append(aside(line + '\n'));
        }
        return part;
    });
    block.replaceChildren(...parts);
    // The button copies this property.
    Object.defineProperty(block, 'innerText', { get: () => commands.join('\n') + '\n' });
}

// Text that a selection leaves out.
function aside(text) {
    const span = document.createElement('span');
    span.className = 'aside';
    span.append(text);
    return span;
}

// A command may break between words, but not at a hyphen. A long address may break anywhere.
for (const code of document.querySelectorAll(':not(pre) > code')) {
    const words = code.textContent.split(' ').map((text) => {
        const word = document.createElement('span');
        word.className = text.length < 35 ? 'word' : '';
        word.append(text);
        return [word, ' '];
    });
    code.replaceChildren(...words.flat().slice(0, -1));
}

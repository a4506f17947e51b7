// Blocks with prompts: only the commands are copied, from a selection and by the button.
for (const block of document.querySelectorAll('code.language-console')) {
    const commands = [];
    let isCommand = false;
    const parts = block.textContent.trimEnd().split('\n').map((line) => {
        isCommand = line.startsWith('$ ') || (isCommand && line.startsWith('> '));
        const part = document.createElement('span');
        if (isCommand) {
            commands.push(line.slice(2));
            part.append(element('span', 'aside prompt', line.slice(0, 2)), line.slice(2) + '\n');
        } else {
            part.append(element('span', 'aside', line + '\n'));
        }
        return part;
    });
    block.replaceChildren(...parts);
    // The button copies this property.
    Object.defineProperty(block, 'innerText', { get: () => commands.join('\n') + '\n' });
}

// A command may break between words, but not at a hyphen. A long address may break anywhere.
for (const code of document.querySelectorAll(':not(pre) > code')) {
    const words = code.textContent.split(' ').map((text) => [element('span', text.length < 35 ? 'word' : '', text), ' ']);
    code.replaceChildren(...words.flat().slice(0, -1));
}

// The contents of a page with several sections. The page to print has all pages.
const sections = [...document.querySelectorAll('main h2[id]')];
if (sections.length > 1 && document.querySelectorAll('main h1').length === 1) {
    const contents = element('nav', 'page-contents', '');
    contents.ariaLabel = 'On this page';
    contents.append(...sections.map((section) => {
        const link = element('a', '', section.textContent);
        link.href = '#' + section.id;
        return link;
    }));
    document.querySelector('main').append(contents);
}

function element(name, className, text) {
    const it = document.createElement(name);
    it.className = className;
    it.append(text);
    return it;
}

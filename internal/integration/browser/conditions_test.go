// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import "testing"

// TestConditions finds a trace that the conditions of a list leave out, drops those of the table
// of names, and takes no time along that was dropped.
func TestConditions(t *testing.T) {
	o := newShop(t, false, 30)
	address := o.serve(t)
	b := newBrowser(t)
	b.run("a list of nothing", navigate(address+"?error=true&min=10s&from=4102444800000"), visible(`.empty`))
	b.run("a trace", until(`(() => {
		const box = document.querySelector('[data-search]');
		box.value = '`+o.failed+`';
		box.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter' }));
		return true;
	})()`),
		until(`document.querySelectorAll('.spans tbody tr').length === 1`),
		until(`location.search === '?trace=`+o.failed+`'`),
		until(`!document.querySelector('.check input').checked && document.querySelector('.tools select').value === ''`))

	b.run("the names", navigate(address+"names?error=true&min=1ms"), visible(`.bynames tbody tr`),
		until(`[...document.querySelectorAll('.conditions .chip')].map((e) => e.innerText).join() === 'errors,at least 1ms'`),
		until(`(document.querySelector('.conditions .chip').click(), true)`),
		until(`location.search === '?min=1ms' && document.querySelectorAll('.conditions .chip').length === 1`))

	b.run("a time", navigate(address+"?from=1000000000000"), visible(`.spans tbody tr`), visible(`.conditions .chip`),
		until(`document.querySelector('.pages a:nth-child(2)').search === '?from=1000000000000'`),
		until(`(document.querySelector('.conditions .chip').click(), true)`),
		until(`location.search === ''`),
		click(`.pages a:nth-child(2)`),
		visible(`.bynames tbody tr`),
		until(`location.pathname.endsWith('/names') && location.search === ''`))
	b.check(address)
}
